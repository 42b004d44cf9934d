//! Describes a descriptor, for messages.

use std::ffi::{c_char, c_int};
use std::fmt;
use std::io::Write;
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Displays the events of poll(2): `readable`, `writable`, `readable or writable`.
pub struct Events(pub u16);

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let has = |event: i16| self.0 & event as u16 != 0;
        f.write_str(match (has(libc::POLLIN), has(libc::POLLOUT)) {
            (true, true) => "readable or writable",
            (true, false) => "readable",
            (false, true) => "writable",
            (false, false) => "closed at its other end, or in another state",
        })
    }
}

/// Displays what the descriptor is now, after a comma: `, a socket to 127.0.0.1:80`, or nothing.
pub struct Kind(pub c_int);

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut name = [0_u8; 64];
        let Some(name) = link_of(self.0, &mut name) else { return Ok(()) };
        if name.starts_with("socket:") {
            f.write_str(", a socket")?;
            return address_of(self.0, libc::getpeername)
                .map_or(Ok(()), |to| write!(f, " to {to}"));
        }
        if name.starts_with("pipe:") {
            return f.write_str(", a pipe");
        }
        match name.strip_prefix("anon_inode:") {
            Some(name) => write!(f, ", {}", name.trim_matches(['[', ']'])),
            None => write!(f, ", {name}"),
        }
    }
}

/// The object behind the descriptor, as /proc names it.
fn link_of(fd: c_int, buffer: &mut [u8; 64]) -> Option<&str> {
    let mut path = [0_u8; 64];
    write!(&mut path[..], "/proc/self/fd/{fd}\0").ok()?;
    // SAFETY: the path ends with a zero byte, and there is room for this many bytes.
    let n = unsafe {
        libc::readlink(path.as_ptr().cast(), buffer.as_mut_ptr().cast::<c_char>(), buffer.len())
    };
    std::str::from_utf8(&buffer[..usize::try_from(n).ok()?]).ok()
}

type AddressOf = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int;

fn address_of(fd: c_int, read: AddressOf) -> Option<std::net::SocketAddr> {
    // SAFETY: zero bytes are an address.
    let mut address: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    let place = &raw mut address;
    // SAFETY: there is room for any address.
    if unsafe { read(fd, place.cast(), &raw mut length) } != 0 {
        return None;
    }
    match c_int::from(address.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family tells the type.
            let address = unsafe { &*place.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
            Some((ip, u16::from_be(address.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family tells the type.
            let address = unsafe { &*place.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
            Some((ip, u16::from_be(address.sin6_port)).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_socket_is_shown_with_its_peer() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound above");
        let stream = TcpStream::connect(address).expect("somebody listens");
        assert_eq!(Kind(stream.as_raw_fd()).to_string(), format!(", a socket to {address}"));
        assert_eq!(Kind(listener.as_raw_fd()).to_string(), ", a socket");
        assert_eq!(Kind(-1).to_string(), "");
        assert_eq!(Events(libc::POLLIN as u16).to_string(), "readable");
    }
}
