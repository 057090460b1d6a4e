package apptest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/base/backoff"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// Texts are returned unchanged, byte for byte, for every way to send and to receive them. The JSON forms are decoded like a third-party
// client does, without our code.
func TestTextsArriveUnchanged(t *testing.T) {
	texts := []string{
		"plain", "你好，世界", "مرحبا بالعالم", "नमस्ते", "Z" + strings.Repeat("\u0335", 10_000), "👨‍👩‍👧‍👦 👋🏽 🏴󠁧󠁢󠁳󠁣󠁴󠁿", strings.Repeat("👩\u200d", 1000) + "👩",
		"e\u0301 and \u00e9", "\u202egpj.exe\u202c \u2066inside\u2069", "a\u200bb\ufeffc\u00ad", "line\u2028and\u2029paragraph",
		`<script>alert("x")</script><img src=x onerror=alert(1)>`, `[x](javascript:alert(1)) data:text/html,x http://a@b`, "=1+1\t@SUM(A1)\r\n-2",
		"\x1b[31mred\x1b[0m\r\nlevel=ERROR msg=forged", "x\x01\x08\x0b\x0c\x1f\x7f\u0080\u009f", `"\\u0041 \" \\ / {{.Name}} ${x} %s %00`, "'; DROP TABLE users; --", "\U0010ffff \ufffe \ufffd \ue000",
		strings.Repeat("@bob ", 10_000), strings.Repeat("好", 100_000), "x" + strings.Repeat("\u0001", 99_999),
	}
	refused := make(chan string, 10*len(texts))
	h := apptest.Open(t, nil)
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	pushed, raw := func() (*apptest.Socket, *wire) {
		s, _ := bob.Socket(t, "rialto.v1.proto")
		return s, dialWire(t, bob, "rialto.v1.json")
	}()
	type event struct {
		Seq     string
		Message struct{ Content struct{ Text string } }
	}
	var at uint64 // the position of the raw socket
	// shown reads the next message from bob's two sockets.
	shown := func() (string, string) {
		t.Helper()
		one, other := "", ""
		defer func() {
			select {
			case why := <-refused:
				t.Fatal("refused: ", why)
			default:
			}
		}()
		pushed.Until(func(f *gatewayv1.ServerFrame) bool {
			for _, e := range f.Events {
				if m := e.GetMessage(); m.GetContent().GetText() != "" {
					one = m.Content.GetText()
				}
			}
			return one != ""
		})
		if _, err := raw.Write(frame(final|1, []byte(`{"ping":{}}`))); err != nil { // it sends nothing else
			t.Fatal(err)
		}
		for other == "" {
			_, b, err := raw.next()
			if err != nil {
				t.Fatal(err)
			}
			var f struct {
				Events []event
				Hint   *struct{}
				Sync   struct {
					Events []event
					More   bool
				}
			}
			if err := json.Unmarshal(b, &f); err != nil {
				t.Fatalf("decoding an answer: %v: %.200s", err, b)
			}
			for _, e := range append(f.Events, f.Sync.Events...) {
				if seq, err := strconv.ParseUint(e.Seq, 10, 64); err != nil {
					t.Fatal(err)
				} else if seq > at {
					at, other = seq, other+e.Message.Content.Text
				}
			}
			if f.Hint != nil || f.Sync.More {
				if _, err := raw.Write(frame(final|1, fmt.Appendf(nil, `{"request":1,"sync":{"after":{"epoch":%d,"seq":"%d"}}}`, at>>32, at))); err != nil {
					t.Fatal(err)
				}
			}
		}
		return one, other
	}
	proto, _ := alice.Socket(t, "rialto.v1.proto")
	jsonSocket := dialWire(t, alice, "rialto.v1.json")
	go func() { // ends with the socket
		for f, err := proto.Try(); err == nil; f, err = proto.Try() {
			for _, r := range f.Receipts {
				if r.Error != nil {
					refused <- r.Error.Message
				}
			}
		}
	}()
	var last atomic.Pointer[[]byte] // frame on jsonSocket
	go func() {                     // ends with the socket
		for _, b, err := jsonSocket.next(); err == nil; _, b, err = jsonSocket.next() {
			if wait := retryAfter(b); wait > 0 && backoff.Sleep(t.Context(), wait) == nil {
				_, _ = jsonSocket.Write(*last.Load()) // refused for a time, as under load; the next read has a failure
			} else if bytes.Contains(b, []byte(`"error"`)) {
				refused <- string(b[:min(len(b), 300)])
			}
		}
	}()
	n := uint64(0)
	for _, text := range texts {
		content, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for way, send := range map[string]func(){
			"socket, protobuf": func() {
				n++
				proto.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: c, ClientSeq: n, Content: apptest.Text(text)}}})
			},
			"socket, JSON": func() {
				n++
				f := frame(final|1, fmt.Appendf(nil, `{"sends":[{"conversation":"%d","clientSeq":"%d","content":{"text":%s}}]}`, c, n, content))
				last.Store(&f)
				if _, err := jsonSocket.Write(f); err != nil {
					t.Fatal(err)
				}
			},
			"call, JSON": func() {
				n++
				post(t, alice, "/rialto.chat.v1.ChatService/Send", fmt.Sprintf(`{"conversation":"%d","clientMsgId":"own %d","content":{"text":%s}}`, c, n, content))
			},
		} {
			send()
			one, other := shown()
			var page struct {
				Messages []struct{ Content struct{ Text string } }
			}
			if err := json.Unmarshal(post(t, bob, "/rialto.chat.v1.ChatService/History", fmt.Sprintf(`{"conversation":"%d","limit":1}`, c)), &page); err != nil {
				t.Fatal(err)
			}
			for where, got := range map[string]string{"pushed in protobuf": one, "pushed in JSON": other, "history in JSON": page.Messages[0].Content.Text} {
				if got != text {
					t.Errorf("sent by %s: %.60q %s: got %.60q (%d bytes of %d)", way, text, where, got, len(got), len(text))
				}
			}
		}
	}
}

// retryAfter returns the time after which a frame wants a send repeated, or 0.
func retryAfter(b []byte) time.Duration {
	var f struct {
		Receipts []struct{ Error struct{ RetryMs int64 } }
	}
	if json.Unmarshal(b, &f) != nil || len(f.Receipts) == 0 {
		return 0
	}
	return time.Duration(f.Receipts[0].Error.RetryMs) * time.Millisecond
}

// post makes a call in JSON, and returns the answer. It repeats a call that is refused for a time.
func post(t *testing.T, p *apptest.Person, method, body string) []byte {
	t.Helper()
	for {
		status, wait, b := tryPost(t, p, method, body)
		if status == http.StatusOK {
			return b
		}
		if status != http.StatusServiceUnavailable || wait == 0 || backoff.Sleep(t.Context(), wait) != nil {
			t.Fatalf("call %s: got %d %s", method, status, b)
		}
	}
}

func tryPost(t *testing.T, p *apptest.Person, method, body string) (status int, wait time.Duration, answer []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Server.URL+method, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+p.AccessToken)
	res, err := p.Server.HTTP.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("call %s: %v", method, err)
	}
	seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // without one: 0
	return res.StatusCode, time.Duration(seconds) * time.Second, b
}
