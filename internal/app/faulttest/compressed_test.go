package faulttest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/httphead"
	"github.com/gobwas/ws"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// bomb is a WebSocket frame of some KB at most that inflates to hundreds of KB with hundreds of thousands of elements.
type bomb struct {
	name   string
	frame  []byte
	reason string // of the error that answers it after authentication; empty: it is one that a client may send
	json   bool
}

// kind is the name of the attack with a bomb after authentication.
func (b bomb) kind() string { return "a known user's compressed frame of " + b.name }

// bombs has the lists of a ClientFrame that no limit of bytes bounds, each in a frame of its own, and what takes long to decode in JSON.
func bombs(t *testing.T) (all []bomb) {
	t.Helper()
	users := make([]uint64, 700_000)
	list := func(n int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	numbers := make([]string, 60)
	for n := range numbers {
		numbers[n] = fmt.Sprintf(`"k%d":%s`, n, list(1000, "1"))
	}
	for _, b := range []struct {
		name, reason string
		inflated     []byte
	}{
		{"350,000 empty sends", "too_many_sends", bytes.Repeat([]byte{3<<3 | 2, 0}, 350_000)},
		{"350,000 watches", "too_many_elements", bytes.Repeat([]byte{10<<3 | 2, 0}, 350_000)},
		{"350,000 watched users", "too_many_users", protoField(10, bytes.Repeat([]byte{1 << 3, 7}, 350_000))},
		{"700,000 watched users, packed", "too_many_users", encoded(t, &gatewayv1.ClientFrame{Watch: &gatewayv1.Watch{Users: users}})},
		{"700,000 users of a control entry", "too_many_users", encoded(t, &gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Content: &chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Users: users}}}}}})},
		{"42,000 names with escapes", "bad_json", []byte(`{"sends":` + list(3000, "{"+strings.Trim(list(14, `"\u0061":1`), "[]")+"}") + `}`)},
		{"4,096 marks in JSON", "", []byte(`{"marks":` + list(4096, `{"conversation":"5","readSeq":"1"}`) + `}`)},
		{"60,000 numbers in the body of a call", "", []byte(`{"request":"1","call":{"method":"/rialto.chat.v1.ChatService/ListFolders","body":{` + strings.Join(numbers, ",") + `}}}`)},
	} {
		json := b.inflated[0] == '{'
		first := byte(0xc2)
		if json {
			first = 0xc1
		}
		frame := clientFrame(first, deflated(t, b.inflated))
		if len(frame) > 2<<10 {
			t.Fatalf("%s: the frame has %d bytes", b.name, len(frame))
		}
		all = append(all, bomb{b.name, frame, b.reason, json})
	}
	return all
}

func encoded(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// deflated compresses a message for permessage-deflate.
func deflated(t *testing.T, b []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestCompression)
	if err == nil {
		_, err = z.Write(b)
	}
	if err == nil {
		err = z.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(packed.Bytes(), []byte{0, 0, 0xff, 0xff})
}

// late is why a socket is closed whose first frame a server under load has not read in time.
const late = "no credentials came in time; send an auth frame first"

const (
	before = "a compressed frame before authentication"
	// bombsAtOnce is as many as a connection may send that cannot be decoded: the last of them closes it.
	bombsAtOnce = 10
)

// compressed sends a bomb some times on a socket that asked for compression, and notes what the server answers.
func (a *attacks) compressed(kind, token string, b bomb) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		header := http.Header{}
		if token != "" {
			header.Set("Authorization", "Bearer "+token)
		}
		protocol := "rialto.v1.proto"
		if b.json {
			protocol = "rialto.v1.json"
		}
		d := ws.Dialer{Protocols: []string{protocol}, Header: ws.HandshakeHeaderHTTP(header), Timeout: 10 * time.Second,
			Extensions: []httphead.Option{httphead.NewOption("permessage-deflate", nil)}}
		c, in, shake, err := d.Dial(ctx, "ws://"+a.address+"/v1/socket")
		if err != nil {
			return err
		}
		if in == nil {
			in = bufio.NewReaderSize(c, 4096)
		}
		if (len(shake.Extensions) == 1) != (token != "") {
			a.seen.add(kind, "the wrong answer to the offer of compression")
		}
		defer context.AfterFunc(ctx, func() { c.Close() })()
		defer c.Close()
		go func() { _, _ = c.Write(bytes.Repeat(b.frame, bombsAtOnce)) }() // ends with the connection, which may be before all is written
		return a.note(kind, c, in)
	}
}

// note counts the errors and the close code that come on a socket, until its end.
func (a *attacks) note(kind string, c net.Conn, in io.Reader) error {
	for {
		h, err := ws.ReadHeader(in)
		if err != nil {
			return err
		}
		payload := make([]byte, h.Length)
		if _, err := io.ReadFull(in, payload); err != nil {
			return err
		}
		if h.OpCode == ws.OpClose {
			_, err := c.Write([]byte{0x88, 0x80, 0, 0, 0, 0})
			return err
		}
		f := &gatewayv1.ServerFrame{}
		decode := proto.Unmarshal
		if h.OpCode == ws.OpText {
			decode = protojson.Unmarshal
		}
		if h.Rsv1() || decode(payload, f) != nil {
			continue // a compressed frame of the server has no error
		}
		if f.Error != nil {
			a.seen.add(kind, f.Error.Reason)
		}
		if f.Bye != nil {
			if f.Bye.Code == 4101 { // for other reasons than time it would mean that the frame was decoded
				a.seen.add(kind, f.Bye.Reason)
			} else {
				a.seen.add(kind, closed(f.Bye.Code))
			}
		}
	}
}
