//! Which connected Unix sockets belong together, where `socketpair` did not make them.
//!
//! A connection's two streams are numbered by the socket of the side that connected. That side knows its
//! own number. The side that accepted asks the kernel (`sock_diag`, NETLINK_SOCK_DIAG) for it.

use super::streams::{Side, mixed, name};
use baton_trace::Stream;
use core::ffi::{c_int, c_long};
use core::mem::{MaybeUninit, offset_of, size_of};

/// The streams into which the socket's writes go, and from which its reads come. `None` if the socket is no
/// connected one of this sort, both sides have names, or the kernel does not tell.
pub(super) fn ends(file: c_int, number: u64) -> Option<[u64; 2]> {
    let to_client = |client: u64| Stream::Socket.address(client);
    let to_server = |client: u64| Stream::Socket.address(mixed(&[client, 1]));
    match (has_name(file, libc::getsockname)?, has_name(file, libc::getpeername)?) {
        (false, true) => Some([to_server(number), to_client(number)]),
        (true, false) => peer(u32::try_from(number).ok()?).map(|client| [to_client(client), to_server(client)]),
        _ => None,
    }
}

/// Whether this side of a Unix socket has a name; `None` if it is no connected Unix socket.
fn has_name(file: c_int, ask: Side) -> Option<bool> {
    let (name, length) = name(file, ask)?;
    let is_unix = c_int::from(name.ss_family) == libc::AF_UNIX;
    is_unix.then_some(length > offset_of!(libc::sockaddr_un, sun_path))
}

/// `struct unix_diag_req` behind its `struct nlmsghdr`.
#[repr(C)]
struct Question {
    length: u32,
    kind: u16,
    flags: u16,
    sequence: u32,
    port: u32,
    family: u8,
    protocol: u8,
    unused: u16,
    states: u32,
    socket: u32,
    show: u32,
    cookie: [u32; 2],
}

/// `struct unix_diag_msg` behind its `struct nlmsghdr`, and the first attribute.
#[repr(C)]
#[derive(Clone, Copy)]
struct Answer {
    length: u32,
    kind: u16,
    flags: u16,
    sequence: u32,
    port: u32,
    family: u8,
    sort: u8,
    state: u8,
    unused: u8,
    socket: u32,
    cookie: [u32; 2],
    attribute_length: u16,
    attribute: u16,
    peer: u32,
}

const NETLINK_SOCK_DIAG: c_int = 4;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const UDIAG_SHOW_PEER: u32 = 4;
const UNIX_DIAG_PEER: u16 = 2;

/// The number of the socket that the one with this number is connected to. The kernel answers before the call
/// that asks has returned.
fn peer(socket: u32) -> Option<u64> {
    let question = Question {
        length: size_of::<Question>() as u32,
        kind: SOCK_DIAG_BY_FAMILY,
        flags: NLM_F_REQUEST,
        sequence: 1,
        port: 0,
        family: libc::AF_UNIX as u8,
        protocol: 0,
        unused: 0,
        states: u32::MAX,
        socket,
        show: UDIAG_SHOW_PEER,
        cookie: [u32::MAX; 2],
    };
    let mut answer = MaybeUninit::<Answer>::zeroed();
    let kind = c_long::from(libc::SOCK_RAW | libc::SOCK_CLOEXEC);
    // SAFETY: the kernel reads `question` and writes at most the size of `answer` to it. The file is this
    // function's own. The calls go past the hooks.
    let got = unsafe {
        let file =
            libc::syscall(libc::SYS_socket, c_long::from(libc::AF_NETLINK), kind, c_long::from(NETLINK_SOCK_DIAG));
        if file < 0 {
            return None;
        }
        libc::syscall(
            libc::SYS_sendto,
            file,
            &raw const question,
            size_of::<Question>(),
            0 as c_long,
            0 as c_long,
            0 as c_long,
        );
        let flags = c_long::from(libc::MSG_DONTWAIT);
        let got = libc::syscall(
            libc::SYS_recvfrom,
            file,
            answer.as_mut_ptr(),
            size_of::<Answer>(),
            flags,
            0 as c_long,
            0 as c_long,
        );
        libc::syscall(libc::SYS_close, file);
        got
    };
    // SAFETY: the structure was zeroed, and any bytes are a valid value of it.
    let answer = unsafe { answer.assume_init() };
    let whole = got >= size_of::<Answer>() as c_long && answer.kind == SOCK_DIAG_BY_FAMILY && answer.socket == socket;
    (whole && answer.attribute == UNIX_DIAG_PEER && answer.peer != 0).then_some(u64::from(answer.peer))
}
