// The echo server on goroutines, one for each connection: see echo.h.
package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"time"
)

func compute() {
	for {
		y := uint64(1)
		for end := time.Now().Add(10 * time.Millisecond); time.Now().Before(end); {
			for i := 0; i < 1000; i++ {
				y = y*3 + 1
			}
		}
		runtime.KeepAlive(y)
	}
}

func serve(c net.Conn) {
	defer c.Close()
	buffer := make([]byte, 1024)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return
		}
		if _, err := c.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func die(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	// Go sets TCP_NODELAY for each connection.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		die(err)
	}
	computing := 0
	if len(os.Args) > 1 {
		if computing, err = strconv.Atoi(os.Args[1]); err != nil {
			die(err)
		}
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port, os.Getpid())
	for i := 0; i < computing; i++ {
		go compute()
	}
	for {
		c, err := listener.Accept()
		if err != nil {
			die(err)
		}
		go serve(c)
	}
}
