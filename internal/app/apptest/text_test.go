package apptest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/app/apptest"
)

// What people write comes out as it went in, byte for byte, by every way in and every way out: the JSON forms are read here as
// a stranger's client reads them, with no code of ours.
func TestTextsArriveAsTheyAre(t *testing.T) {
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
	// shown reads bob's two sockets to the next message.
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
		for other == "" {
			_, b, err := raw.next()
			if err != nil {
				t.Fatal(err)
			}
			var f struct {
				Events []struct {
					Message struct{ Content struct{ Text string } }
				}
			}
			if err := json.Unmarshal(b, &f); err != nil {
				t.Fatalf("%v: %.200s", err, b)
			}
			for _, e := range f.Events {
				other += e.Message.Content.Text
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
	go func() { // ends with the socket
		for _, b, err := jsonSocket.next(); err == nil; _, b, err = jsonSocket.next() {
			if bytes.Contains(b, []byte(`"error"`)) {
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
				if _, err := jsonSocket.Write(frame(final|1, fmt.Appendf(nil, `{"sends":[{"conversation":"%d","clientSeq":"%d","content":{"text":%s}}]}`, c, n, content))); err != nil {
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
					t.Errorf("by %s: %.60q %s is %.60q (%d bytes of %d)", way, text, where, got, len(got), len(text))
				}
			}
		}
	}
}

// post makes a call in JSON, and gives the answer.
func post(t *testing.T, p *apptest.Person, method, body string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.House.URL+method, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+p.AccessToken)
	res, err := p.House.HTTP.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", method, res.StatusCode, b, err)
	}
	return b
}
