// Decodes the timeline's blocks: base64 of numbers with seven bits in each byte (see timeline/encode.rs).
function decodeLanes(text, lanes, start) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  let at = 0;
  function number() {
    let value = 0, scale = 1, byte;
    do {
      byte = bytes[at++];
      value += (byte & 127) * scale;
      scale *= 128;
    } while (byte & 128);
    return value;
  }
  return Array.from({ length: lanes }, () => {
    const n = number();
    const lane = { start: new Float64Array(n), end: new Float64Array(n), state: new Uint8Array(n), object: new Int32Array(n), pieces: new Float64Array(n), shares: new Map() };
    let time = start;
    for (let i = 0; i < n; i++) {
      time += number();
      lane.start[i] = time;
      time += number();
      lane.end[i] = time;
      const tag = number();
      lane.state[i] = tag & 15;
      lane.object[i] = number() - 1;
      lane.pieces[i] = 1;
      if (tag & 16) {
        lane.pieces[i] = number();
        lane.shares.set(i, bytes.subarray(at, at + STATES.length));
        at += STATES.length;
      }
    }
    return lane;
  });
}

// Finds the first block of a lane that ends after a time.
function firstAfter(lane, time) {
  let low = 0, high = lane.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.end[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
