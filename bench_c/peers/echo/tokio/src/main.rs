//! The echo server on tokio's scheduler of several threads, a task for each connection: see
//! ../../echo.h. A task that computes yields every 10 ms.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn compute() {
    loop {
        let end = Instant::now() + Duration::from_millis(10);
        while Instant::now() < end {
            black_box((0..1000).fold(1u64, |y, _| black_box(y.wrapping_mul(3) + 1)));
        }
        tokio::task::yield_now().await;
    }
}

/// An error means that the client has gone.
async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        let n = stream.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..n]).await?;
    }
}

async fn accept(computing: usize) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{} {}", listener.local_addr()?.port(), std::process::id());
    for _ in 0..computing {
        tokio::spawn(compute());
    }
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(serve(stream));
    }
}

fn main() -> io::Result<()> {
    let computing = std::env::args().nth(1).map_or(0, |n| n.parse().expect("a number of tasks"));
    tokio::runtime::Builder::new_multi_thread().enable_io().build()?.block_on(accept(computing))
}
