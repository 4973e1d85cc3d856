//! A device, added to Baton: it answers a request with the request's first word, two cycles after taking it.

use baton_cli::chip::device::{Answer, Device, DeviceKind, Port, Request, Taken};

pub const KIND: DeviceKind = DeviceKind { name: "my-echo", keys: &[], make: |_| Box::new(Echo) };

struct Echo;

impl Device for Echo {
    fn take(&mut self, request: Request, port: &mut Port<'_>) -> Taken {
        port.answer(&request, port.now() + 2, Answer::done(request.words[0]));
        Taken::Yes
    }
}
