package rpc_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// counted counts the bytes that are read of a body.
type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

// send sends a request with a body of any content type.
func (h *harness) send(path, contentType string, body io.Reader, headers ...string) answer {
	h.t.Helper()
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, path, body)
	r.ContentLength = -1
	r.Header.Set("Content-Type", contentType)
	for _, v := range headers {
		name, value, _ := strings.Cut(v, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, r)
	res := w.Result()
	if status := res.Trailer.Get("Grpc-Status"); status != "" {
		res.Header.Set("Grpc-Status", status)
	}
	return answer{w.Code, res.Header, w.Body.String()}
}

// No body is read before the caller is authenticated. The body of a call without credentials is short and not compressed.
func TestCredentialsComeBeforeTheBody(t *testing.T) {
	h := newHarness(t)
	kinds := []string{asJSON, asProto, "application/grpc", "application/grpc+proto", "application/grpc-web", "application/grpc-web+proto"}
	for name, who := range h.Calls() {
		for _, kind := range kinds {
			body := &counted{Reader: &endlessBody{}}
			if who != "anyone" {
				for _, token := range []string{"X: y", "Authorization: Bearer nothing"} {
					got := h.send(name, kind, body, token)
					refused := got.status == http.StatusUnauthorized || got.header.Get("Grpc-Status") == "16"
					if !refused || body.n > 0 || got.header.Get("Connection") != "close" {
						t.Errorf("%s as %s is answered with %d %v after %d bytes of the body", name, kind, got.status, got.header, body.n)
					}
				}
				continue
			}
			got := h.send(name, kind, body)
			refused := got.reason() == "request_too_large" || got.header.Get("Grpc-Status") != "" && got.header.Get("Grpc-Status") != "0"
			if !refused || body.n > 32<<10 {
				t.Errorf("%s as %s is answered with %d %v after %d bytes of the body", name, kind, got.status, got.header, body.n)
			}
			body = &counted{Reader: bytes.NewReader(h.zipped(1000))}
			for _, encoding := range []string{"Content-Encoding: gzip", "Grpc-Encoding: gzip"} {
				if got := h.send(name, kind, body, encoding); body.n > 0 || got.status == http.StatusOK && got.header.Get("Grpc-Status") == "" {
					t.Errorf("%s as %s, compressed, is answered with %d %s after %d bytes of the body", name, kind, got.status, got.body, body.n)
				}
			}
		}
	}
	if got := h.send(accounts+"Login", asJSON, strings.NewReader(`{"handle":"nobody"}`), "Content-Encoding: gzip"); got.reason() != "compressed" {
		t.Errorf("a compressed login is answered with %d %s", got.status, got.body)
	}
}

// chunkedBody is a body that arrives in chunks; it calls beforeChunk before each but the first.
type chunkedBody struct {
	pieces      int
	each        int
	beforeChunk func(received int)
	received    int
}

func (p *chunkedBody) Read(b []byte) (int, error) {
	if p.beforeChunk(p.received); p.received == p.pieces*p.each {
		return 0, io.EOF
	}
	n := min(len(b), p.each-p.received%p.each)
	for i := range b[:n] {
		b[i] = ' '
	}
	p.received += n
	return n, nil
}

// The received bytes of a body are charged until it is decoded. A body above the memory limit is answered.
func TestBodiesAreChargedUntilDecoded(t *testing.T) {
	h := newHarness(t)
	auth := bearer(h.person("alice").AccessToken)
	deps := h.deps
	deps.Input = inputlimit.NewMemory(4 << 20)
	h.Server = rpc.New(deps)
	most := int64(0)
	watch := func(int) { most = max(most, deps.Input.Used()) }
	if got := h.send(accounts+"SearchUsers", asJSON, io.MultiReader(strings.NewReader(`{"query":"alice"`), &chunkedBody{100, 1000, watch, 0}, strings.NewReader("}")), auth); got.status != http.StatusOK {
		t.Errorf("the call is answered with %d %s", got.status, got.body)
	}
	if most < 99_000 || most > 110_000 {
		t.Errorf("%d of 100,000 bytes are charged", most)
	}
	got := h.send(accounts+"SearchUsers", asJSON, &chunkedBody{1000, 1000, func(int) {}, 0}, auth)
	if got.status != http.StatusServiceUnavailable || got.reason() != "busy" || got.header.Get("Retry-After") == "" {
		t.Errorf("a body above the memory limit is answered with %d %v %s", got.status, got.header, got.body)
	}
	// A compressed body is charged with its largest possible decompressed size.
	most = 0
	packed := h.zipped(10)
	got = h.send(accounts+"SearchUsers", asJSON, io.MultiReader(bytes.NewReader(packed), &chunkedBody{0, 1, watch, 0}), auth, "Content-Encoding: gzip")
	if want := int64(len(packed)) * 1033; got.status != http.StatusBadRequest || most != want {
		t.Errorf("answer %d %s: %d bytes are charged for %d compressed ones, want %d", got.status, got.body, most, len(packed), want)
	}
	// Unauthenticated clients have a share of the memory.
	var unknown, known bool
	h.send(accounts+"Login", asJSON, &chunkedBody{2, 1000, func(received int) {
		unknown, known = unknown || deps.Input.InUse(false), known || deps.Input.InUse(true)
	}, 0})
	if !unknown || known {
		t.Errorf("a login is charged as unauthenticated: %v, as authenticated: %v", unknown, known)
	}
	if held := deps.Input.Used(); held != 0 {
		t.Errorf("%d bytes are still charged afterwards", held)
	}
}

// The time for the next chunk of a body is bounded, and so is the time for the whole body of a refused call.
func TestSlowBodiesAreEnded(t *testing.T) {
	h := newHarness(t)
	auth := bearer(h.person("alice").AccessToken)
	within := func(what string, at time.Time, least, most time.Duration) {
		t.Helper()
		if left := time.Until(at); left > most || left < least {
			t.Errorf("%s has a deadline in %v, want at most %v", what, left, most)
		}
	}
	request := func(name, credentials string, body io.Reader) (*deadlines, *http.Request) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, name, body)
		r.Header.Set("Content-Type", asJSON)
		if credentials != "" {
			_, value, _ := strings.Cut(credentials, ": ")
			r.Header.Set("Authorization", value)
		}
		return &deadlines{ResponseRecorder: httptest.NewRecorder()}, r
	}
	var w *deadlines
	reads := 0
	slow := func(what string, most time.Duration) *chunkedBody {
		return &chunkedBody{20, 4 << 10, func(received int) {
			reads++
			within(what, w.read, most-5*time.Second, most)
			if each := 1 + 1 + received/(16<<10); w.times < each-1 || w.times > each {
				t.Errorf("%s: %d deadlines after %d bytes, want one for each 16 KiB", what, w.times, received)
			}
		}, 0}
	}
	for _, test := range []struct {
		name, credentials string
		most              time.Duration
	}{{accounts + "SearchUsers", auth, 30 * time.Second}, {accounts + "Login", "", 10 * time.Second}} {
		var r *http.Request
		w, r = request(test.name, test.credentials, slow(test.name, test.most))
		if test.credentials == "" {
			r.Body = io.NopCloser(&chunkedBody{3, 4 << 10, func(int) { reads++; within(test.name, w.read, test.most-5*time.Second, test.most) }, 0})
		}
		h.Handler().ServeHTTP(w, r)
		within("the call itself", w.read, 31*time.Second, time.Minute)
	}
	if reads < 15 {
		t.Errorf("the bodies were read %d times", reads)
	}
	w, r := request(accounts+"SearchUsers", "", strings.NewReader("{}"))
	h.Handler().ServeHTTP(w, r)
	within("what is refused", w.read, 5*time.Second, 10*time.Second)
}

// The answer to a body that does not arrive in time has a reason, and nothing of the connection.
func TestABodyThatIsLateHasAReason(t *testing.T) {
	h := newHarness(t)
	late := &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 7070}, Err: os.ErrDeadlineExceeded}
	for name, headers := range map[string][]string{"Login": nil, "SearchUsers": {bearer(h.person("alice").AccessToken)}} {
		got := h.send(accounts+name, asJSON, io.MultiReader(strings.NewReader("{"), iotest.ErrReader(late)), headers...)
		if got.status != http.StatusServiceUnavailable || got.reason() != "too_slow" || got.header.Get("Retry-After") != "1" || strings.Contains(string(got.body), "10.0.0.7") {
			t.Errorf("%s: answered with %d %s", name, got.status, got.body)
		}
	}
}

// While a user, or an address without credentials, sends one body, another large body of the same owner is refused; those of others are not.
func TestBodiesOfOneOwnerLeaveMemoryForOthers(t *testing.T) {
	h := newHarness(t)
	alice, bert := h.person("alice").AccessToken, h.person("bert").AccessToken
	for _, test := range []struct {
		name, method         string
		memory, first, other int
		same, different      [2]string // network address, token
	}{
		{"a user", accounts + "SearchUsers", 4 << 20, 300_000, 200_000, [2]string{"192.0.2.1:1", alice}, [2]string{"192.0.2.1:1", bert}},
		{"a network without credentials", accounts + "Login", 256 << 10, 6_000, 4_500, [2]string{"192.0.2.1:1"}, [2]string{"192.0.2.2:1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			deps := h.deps
			deps.Input = inputlimit.NewMemory(test.memory)
			h.Server = rpc.New(deps)
			send := func(sender [2]string, body io.Reader) string {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, test.method, body)
				r.RemoteAddr = sender[0]
				r.Header.Set("Content-Type", asJSON)
				if sender[1] != "" {
					r.Header.Set("Authorization", "Bearer "+sender[1])
				}
				w := httptest.NewRecorder()
				h.Handler().ServeHTTP(w, r)
				return answer{w.Code, w.Header(), w.Body.String()}.reason()
			}
			reads := false
			first := send(test.same, &chunkedBody{test.first / 1000, 1000, func(received int) {
				if received < test.first || reads {
					return
				}
				reads = true
				if reason := send(test.same, &chunkedBody{test.other / 500, 500, func(int) {}, 0}); reason != "busy" {
					t.Errorf("a second body of the same owner is answered %q, want busy", reason)
				}
				if reason := send(test.different, &chunkedBody{test.other / 500, 500, func(int) {}, 0}); reason != "bad_json" {
					t.Errorf("a body of another owner is answered %q, want bad_json", reason)
				}
			}, 0})
			if first != "bad_json" || !reads {
				t.Errorf("the first body is answered %q, want bad_json", first)
			}
		})
	}
}

// TestJSONLimitsHoldOverHTTP and for calls on a socket: 32 levels, 1,000 keys of an object, and integers of 64 bits, exact or refused.
func TestJSONLimitsHoldOverHTTP(t *testing.T) {
	h := newHarness(t)
	anna := h.person("anna")
	var group chatv1.Conversation
	h.into(&group, h.call(chats+"CreateGroup", &chatv1.CreateGroupRequest{Title: "x"}, bearer(anna.AccessToken)))
	if group.Id <= 1<<53 {
		t.Fatalf("the id %d is exact as a float", group.Id)
	}
	nested := func(levels int) string {
		return strings.Repeat(`{"x":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
	}
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":0,`, i)
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	}
	for name, c := range map[string]struct {
		body, reason string
		unknown      bool // fields, which only HTTP ignores
	}{
		"a number above 2^53":        {fmt.Sprintf(`{"conversation":%d}`, group.Id), "", false},
		"text":                       {fmt.Sprintf(`{"conversation":"%d"}`, group.Id), "", false},
		"another above 2^53":         {fmt.Sprintf(`{"conversation":%d}`, group.Id+1), "no_conversation", false},
		"the highest of 64 bits":     {`{"conversation":18446744073709551615}`, "no_conversation", false},
		"one of 65 bits":             {`{"conversation":18446744073709551616}`, "bad_json", false},
		"a fraction":                 {fmt.Sprintf(`{"conversation":%d.5}`, group.Id), "bad_json", false},
		"a number that rounds":       {`{"conversation":1e400}`, "bad_json", false},
		"below zero":                 {`{"conversation":-1}`, "bad_json", false},
		"32 levels":                  {fmt.Sprintf(`{"conversation":%d,"x":%s}`, group.Id, nested(31)), "", true},
		"33 levels":                  {fmt.Sprintf(`{"conversation":%d,"x":%s}`, group.Id, nested(32)), "bad_json", false},
		"10,000 levels":              {nested(10_000), "bad_json", false},
		"1,000 keys":                 {fmt.Sprintf(`{"conversation":%d,"x":%s}`, group.Id, keys(1000)), "", true},
		"1,001 keys":                 {fmt.Sprintf(`{"conversation":%d,"x":%s}`, group.Id, keys(1001)), "bad_json", false},
		"1,001 keys of the request":  {keys(1001), "bad_json", false},
		"an unknown list of numbers": {fmt.Sprintf(`{"conversation":%d,"x":[%s0]}`, group.Id, strings.Repeat("0,", 1000)), "bad_json", false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, chats+"GetConversation", strings.NewReader(c.body))
		r.Header.Set("Content-Type", asJSON)
		r.Header.Set("Authorization", "Bearer "+anna.AccessToken)
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		got := answer{w.Code, w.Header(), w.Body.String()}
		if got.reason() != c.reason || c.reason == "" && (got.status != http.StatusOK || !strings.Contains(got.body, fmt.Sprint(group.Id))) {
			t.Errorf("%s over HTTP: %d %.200s, want the reason %q", name, got.status, got.body, c.reason)
		}
		want := c.reason
		if c.unknown {
			want = "bad_json"
		}
		out, err := h.Invoke(t.Context(), id.Caller{User: id.User(anna.User)}, chats+"GetConversation", []byte(c.body), true)
		if err != nil && errs.Of(err).Reason != want || err == nil && (want != "" || !strings.Contains(string(out), fmt.Sprint(group.Id))) {
			t.Errorf("%s on a socket: %.200s (%v), want the reason %q", name, out, err, want)
		}
	}
}

// An answer that is smaller than a packet is sent as it is: to compress it takes longer than it saves.
func TestSmallAnswersAreNotCompressed(t *testing.T) {
	h := newHarness(t)
	asker := h.person("asker")
	for n := range 20 {
		h.person(fmt.Sprintf("person.with.a.long.handle.%02d", n))
	}
	for query, want := range map[string]string{"asker": "", "person": "gzip"} {
		got := h.send(accounts+"SearchUsers", asJSON, strings.NewReader(`{"query":"`+query+`"}`), "Authorization: Bearer "+asker.AccessToken, "Accept-Encoding: gzip")
		if encoding := got.header.Get("Content-Encoding"); got.status != http.StatusOK || encoding != want {
			t.Errorf("the answer for %s has status %d, %d bytes and the encoding %q, want %q", query, got.status, len(got.body), encoding, want)
		}
	}
}
