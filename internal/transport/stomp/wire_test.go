package stomp

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"testing"

	"github.com/gobwas/ws"
)

// Frames of WebSocket that bring nothing count as pings do.
func TestEmptyFramesAreAFlood(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	var in bytes.Buffer
	for range 20 * maxFrames { // of more than a second
		if err := ws.WriteFrame(&in, ws.MaskFrame(ws.NewTextFrame(nil))); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := newWebSocketWire(ours, bufio.NewReader(&in)).Read(make([]byte, 10)); n != 0 || !errors.Is(err, errFlood) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
