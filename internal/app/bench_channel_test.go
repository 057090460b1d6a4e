package app

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/bench"
)

// TestBenchOfAChannel: the bench loads a channel most of whose followers are not connected. Those who are get every message.
func TestBenchOfAChannel(t *testing.T) {
	h, _ := open(t)
	var out, errOut bytes.Buffer
	code := bench.Main([]string{"chat", "--json", "--url", "http://" + h.Address().String(), "--api-key", key(t, h), "--groups", "1", "--channel", "--group-size", "4",
		"--followers", "600", "--whole", "--duration", "1s", "--drain", "3m", "--history"}, &out, &errOut)
	var r struct{ Acked, Delivered, History, Connections uint64 }
	if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil {
		t.Fatalf("got exit code %d, %v\n%s\n%s", code, err, out.String(), errOut.String())
	}
	if r.Acked == 0 || r.Delivered != 3*r.Acked || r.History != r.Acked || r.Connections != 4 {
		t.Errorf("want each message delivered to 3 followers and stored once, with 4 connections; got %s", out.String())
	}
}
