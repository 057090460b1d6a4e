package rpc_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	asJSON  = "application/json"
	asProto = "application/proto"
)

func TestBadBodies(t *testing.T) {
	h := newHarness(t)
	auth := bearer(h.person("alice").AccessToken)
	const send = chats + "Send"
	deep := func(open, inner, end string) string {
		return `{"content":{"text":"x"},"unknown":` + strings.Repeat(open, inputlimit.MaxDepth) + inner + strings.Repeat(end, inputlimit.MaxDepth) + `}`
	}
	for what, body := range map[string]string{
		"nothing": "", "a blank": " ", "half": `{"conversation":"1"`, "two": `{}{}`, "a list": `[]`, "null": `null`, "text": `"x"`, "a comma": `{"conversation":"1",}`, "a comment": `{/**/}`,
		"duplicate keys": `{"conversation":"1","conversation":"2"}`, "a key in both its forms": `{"clientSeq":"1","client_seq":"2"}`, "two kinds of content": `{"content":{"text":"x","image":{}}}`,
		"1e999": `{"conversation":1e999}`, "NaN": `{"conversation":NaN}`, "NaN as text": `{"conversation":"NaN"}`, "-1": `{"conversation":-1}`, "2^64": `{"conversation":"18446744073709551616"}`,
		"a fraction": `{"conversation":1.5}`, "an object for a number": `{"conversation":{}}`, "a lone surrogate": `{"clientMsgId":"\ud800"}`, "bad UTF-8": "{\"clientMsgId\":\"\xff\"}",
		"a raw zero byte": "{\"clientMsgId\":\"\x00\"}", "UTF-16": "\xff\xfe{\x00}\x00", "deep lists": deep("[", "", "]"), "deep objects": deep(`{"a":`, "1", "}"), "a byte order mark": "\ufeff{}",
		"too many keys": `{` + strings.Repeat(`"unknown":1,`, inputlimit.MaxKeys) + `"conversation":"1"}`,
		"an unknown enum name, after an unknown field": `{"unknown":1,"content":{"control":{"action":"ACTION_DANCE"}}}`,
		"a number too long":                            `{"conversation":` + strings.Repeat("9", 100_000) + `}`, "a long text for a number": `{"conversation":"` + strings.Repeat("é", 200_000) + `"}`,
	} {
		got := h.post(send, asJSON, []byte(body), auth)
		if got.status != http.StatusBadRequest || got.reason() != "bad_json" || len(got.body) > 2000 {
			t.Errorf("%s is answered with %d %.300s", what, got.status, got.body)
		}
	}
	for what, body := range map[string]string{"no protobuf": "\xff\xff\xff", "cut": "\x08", "a length beyond the end": "\x1a\xff\xff\xff\xff\x0f", "bad UTF-8": "\x1a\x01\xff", "JSON": "{}",
		"groups without end": strings.Repeat("\x0b", 20_000), "field 0": "\x00\x01"} {
		got := h.post(send, asProto, []byte(body), auth)
		if got.status != http.StatusBadRequest || got.reason() != "bad_payload" {
			t.Errorf("%s is answered with %d %s", what, got.status, got.body)
		}
	}
	// Lists are counted before they are decoded.
	for call, test := range map[string]struct {
		request proto.Message
		reason  string
	}{
		accounts + "GetUsers":     {&accountv1.GetUsersRequest{Users: make([]uint64, 201)}, "bad_count"},
		chats + "Invite":          {&chatv1.InviteRequest{Users: make([]uint64, 100_000)}, "too_many_users"},
		chats + "CreateGroup":     {&chatv1.CreateGroupRequest{Members: make([]uint64, 100_000)}, "too_many_users"},
		presences + "GetPresence": {&presencev1.GetPresenceRequest{Users: make([]uint64, 100_000)}, "too_many_users"},
		chats + "Send":            {&chatv1.SendRequest{Content: &chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Users: make([]uint64, 100_000)}}}}, "too_many_users"},
	} {
		b, err := proto.Marshal(test.request)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.post(call, asProto, b, auth); got.status != http.StatusBadRequest || got.reason() != test.reason {
			t.Errorf("%s in protobuf is answered with %d %.300s", call, got.status, got.body)
		}
		if got := h.call(call, test.request, auth); got.status != http.StatusBadRequest || got.reason() != test.reason {
			t.Errorf("%s in JSON is answered with %d %.300s", call, got.status, got.body)
		}
	}
	if got := h.post(send, asProto, bytes.Repeat([]byte{8, 1}, inputlimit.MaxFields+1), auth); got.reason() != "too_many_elements" {
		t.Errorf("a repeated field is answered with %d %.300s", got.status, got.body)
	}
	// Authentication precedes decoding, and unauthenticated callers do not learn of decoding errors.
	for _, kind := range []string{asJSON, asProto} {
		if got := h.post(send, kind, []byte("{x"), "Cookie: a=b"); got.status != http.StatusUnauthorized || got.reason() != "no_token" {
			t.Errorf("%s without credentials is answered with %d %s", kind, got.status, got.body)
		}
	}
}

func TestGoodBodies(t *testing.T) {
	h := newHarness(t)
	auth := bearer(h.person("alice").AccessToken)
	var many strings.Builder
	for n := range inputlimit.MaxKeys - 1 {
		fmt.Fprintf(&many, `"k%d":%d,`, n, n)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(`{"query":"alice"}`)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]struct {
		kind, body string
		header     string
	}{
		"plain":                  {asJSON, `{"query":"alice"}`, auth},
		"with its charset":       {"application/json; charset=utf-8", `{"query":"alice"}`, auth},
		"in capitals":            {"Application/JSON; charset=UTF-8", `{"query":"alice"}`, auth},
		"fields of later":        {asJSON, `{"query":"alice","later":[{"a":null}],"0":1e999}`, auth},
		"many fields":            {asJSON, `{` + many.String() + `"query":"alice"}`, auth},
		"zipped":                 {asJSON, zipped.String(), "Content-Encoding: gzip"},
		"protobuf":               {asProto, "\x0a\x05alice", auth},
		"protobuf of later":      {asProto, "\x0a\x05alice\xf8\xff\xff\xff\x0f\x01", auth},
		"the last of two values": {asProto, "\x0a\x03bob\x0a\x05alice", auth},
	} {
		got := h.post(accounts+"SearchUsers", r.kind, []byte(r.body), auth, r.header)
		if got.status != http.StatusOK || got.header.Get("Content-Encoding") == "" && !strings.Contains(got.body, "alice") {
			t.Errorf("%s is answered with %d %.300s", what, got.status, got.body)
		}
	}
}

func TestUnsupportedRequests(t *testing.T) {
	h := newHarness(t)
	auth := bearer(h.person("alice").AccessToken)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "application/xml", "application/jsonx"} {
		if got := h.post(chats+"ListConversations", kind, []byte(`{}`), auth); got.status != http.StatusUnsupportedMediaType || !strings.Contains(got.body, "Content-Type: application/json") {
			t.Errorf("content type %q is answered with %d %s", kind, got.status, got.body)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodTrace} {
		r := httptest.NewRequestWithContext(t.Context(), method, chats+"ListConversations?encoding=json&message=%7B%7D&connect=v1", nil)
		r.Header.Set("X-Http-Method-Override", "POST")
		w := httptest.NewRecorder()
		h.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s is answered with %d %v", method, w.Code, w.Header())
		}
	}
	for _, path := range []string{"/", "/rialto.chat.v1.ChatService", chats, chats + "Nothing", chats + "send", chats + "Send/", "/x" + chats + "Send", chats + "%53end%00"} {
		if got := h.post(path, asJSON, []byte(`{}`), auth); got.status != http.StatusNotFound {
			t.Errorf("%s is answered with %d %s", path, got.status, got.body)
		}
	}
	// A page of another site can only send a form, with cookies. Neither has an effect.
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", asJSON} {
		got := h.post(accounts+"Logout", kind, []byte(`{"all":true}`), "Cookie: rialto_access="+strings.TrimPrefix(auth, "Authorization: Bearer "), "Origin: https://evil.example", "Sec-Fetch-Site: cross-site")
		if got.status != http.StatusUnauthorized && got.status != http.StatusUnsupportedMediaType {
			t.Errorf("%s from another site is answered with %d %s", kind, got.status, got.body)
		}
	}
	if got := h.post(accounts+"ListSessions", asJSON, []byte(`{}`), auth); got.status != http.StatusOK {
		t.Errorf("the session has ended: %s", got.body)
	}
}

func TestLargeBodies(t *testing.T) {
	h := newHarness(t)
	auth := bearer(h.person("alice").AccessToken)
	body := func(n int) []byte {
		return append(append([]byte(`{"query":"alice"`), bytes.Repeat([]byte(" "), n-len(`{"query":"alice"}`))...), '}')
	}
	if got := h.post(accounts+"SearchUsers", asJSON, body(1<<20), auth); got.status != http.StatusOK {
		t.Errorf("a body of 1 MiB is answered with %d %s", got.status, got.body)
	}
	if got := h.post(accounts+"SearchUsers", asJSON, body(1<<20+1), auth); got.status != http.StatusBadRequest || got.reason() != "request_too_large" {
		t.Errorf("a body of one byte more is answered with %d %s", got.status, got.body)
	}
	// Bodies without a declared length and without an end, and small ones that decompress to large ones. Bytes beyond the limit are not read.
	zipped, stream := h.zipped(8<<20), &endlessBody{}
	for _, kind := range []string{asJSON, asProto} {
		for encoding, body := range map[string]io.Reader{"identity": stream, "gzip": bytes.NewReader(zipped)} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, accounts+"SearchUsers", body)
			r.ContentLength = -1
			r.Header.Set("Content-Type", kind)
			r.Header.Set("Content-Encoding", encoding)
			r.Header.Set("Authorization", strings.TrimPrefix(auth, "Authorization: "))
			w := httptest.NewRecorder()
			h.Handler().ServeHTTP(w, r)
			if got := (answer{w.Code, w.Header(), w.Body.String()}); got.status != http.StatusBadRequest || got.reason() != "request_too_large" {
				t.Errorf("%s, %s is answered with %d %s", encoding, kind, got.status, got.body)
			}
		}
	}
	if stream.read > 4<<20 {
		t.Errorf("%d bytes of a stream were read", stream.read)
	}
}

// endlessBody ends at last, so that the test does.
type endlessBody struct{ read int }

func (e *endlessBody) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	if e.read += len(p); e.read > 1<<30 {
		return 0, io.EOF
	}
	return len(p), nil
}

// zipped returns n compressed blanks.
func (h *harness) zipped(n int) []byte {
	h.t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(bytes.Repeat([]byte(" "), n))
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return b.Bytes()
}

// deadlines records the deadlines that a handler sets on its connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
	times       int // how often the read deadline was set
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.write = at
	return nil
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.read = at
	d.times++
	return nil
}

func TestCallsHaveDeadlines(t *testing.T) {
	h := newHarness(t)
	alice := h.person("alice")
	for name, who := range h.Calls() {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, name, strings.NewReader("{}"))
		r.Header.Set("Content-Type", asJSON)
		r.Header.Set("Authorization", "Bearer "+alice.AccessToken)
		if key, _ := h.keyFor(who); key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		if name == accounts+"Logout" {
			r.Header.Set("Authorization", "Bearer "+h.session("alice").AccessToken)
		}
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		h.Handler().ServeHTTP(w, r)
		// A call has 30 seconds, and ends before its connection does. Each chunk of the answer has as long.
		if w.read.Before(before.Add(31*time.Second)) || w.write.Before(before.Add(25*time.Second)) || w.write.After(time.Now().Add(5*time.Minute)) {
			t.Errorf("the deadlines of %s are %v for reading and %v for writing", name, w.read, w.write)
		}
	}
}

// TestErrorFormat: code, reason and retry delay are in the body and in the header.
func TestErrorFormat(t *testing.T) {
	h := newHarness(t)
	login := &accountv1.LoginRequest{Handle: "nobody", Password: strings.Repeat("x", 8)}
	var got answer
	for range 21 { // the limit for a handle is 20
		got = h.call(accounts+"Login", login)
	}
	if got.status != http.StatusTooManyRequests || got.reason() != "too_many_logins" || got.header.Get("Retry-After") != "3" || got.header.Get("Content-Type") != asJSON {
		t.Fatalf("the login is answered with %d %v %s", got.status, got.header, got.body)
	}
	var f failure
	if err := json.Unmarshal([]byte(got.body), &f); err != nil {
		t.Fatal(err)
	}
	d := f.Details[0]
	raw, err := base64.RawStdEncoding.DecodeString(d.Value)
	if err != nil {
		t.Fatal(err)
	}
	var e gatewayv1.Error
	if err := proto.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	if d.Type != "rialto.gateway.v1.Error" || d.Debug.RetryMs != 3000 || e.RetryMs != 3000 || e.Reason != "too_many_logins" || e.Code != "resource_exhausted" || f.Code != e.Code || e.Message == "" || f.Message != e.Message {
		t.Errorf("the error is %+v, its detail %v", f, &e)
	}
	if got := h.call(chats+"Sync", &chatv1.SyncRequest{}); got.header.Get("Retry-After") != "" {
		t.Errorf("an error that is not retryable has Retry-After %q", got.header.Get("Retry-After"))
	}
}

// TestBadLoginsHaveOneAnswer: byte for byte, whatever was wrong.
func TestBadLoginsHaveOneAnswer(t *testing.T) {
	h := newHarness(t)
	h.person("external") // without a password
	if got := h.call(accounts+"Register", &accountv1.RegisterRequest{Handle: "anna", Password: "a good password"}); got.status != http.StatusOK {
		t.Fatalf("the answer is %v, want status 200", got)
	}
	var first answer
	for n, login := range []*accountv1.LoginRequest{{Handle: "anna", Password: "a wrong password"}, {Handle: "nobody", Password: "a wrong password"}, {Handle: "external", Password: "a wrong password"}, {Handle: "external"},
		{Handle: "anna"}, {Handle: "anna", Password: "a good password\x00"}, {Handle: "anna", Password: strings.Repeat("x", 10_000)}, {Handle: strings.Repeat("x", 10_000)}, {}, {Handle: "an\x00na", Password: "a good password"}, {Handle: "admin", Password: "admin"}, {Handle: "anna' --"}} {
		got := h.call(accounts+"Login", login)
		if n == 0 {
			first = got
		}
		if got.status != http.StatusUnauthorized || got.reason() != "bad_login" || got.body != first.body || fmt.Sprint(got.header) != fmt.Sprint(first.header) {
			t.Errorf("%.60s is answered with %d %v %s", login, got.status, got.header, got.body)
		}
	}
	if got := h.call(accounts+"Login", &accountv1.LoginRequest{Handle: "anna", Password: "a good password"}); got.status != http.StatusOK {
		t.Errorf("a correct login is answered with %d %s", got.status, got.body)
	}
}

// TestSocketAndHTTPGiveTheSameAnswers makes each call in both ways.
func TestSocketAndHTTPGiveTheSameAnswers(t *testing.T) {
	h := newHarness(t)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	rows, calls := matrix(), h.Calls()
	same := 0
	for n, name := range slices.Sorted(maps.Keys(rows)) {
		if calls[name] != "users" {
			caller := p.alice.caller()
			caller.Server = true // not even for a server
			if out, err := h.Invoke(t.Context(), caller, name, []byte("{}"), true); err == nil || errs.Of(err).Reason != "no_method" {
				t.Errorf("%s on a socket returned %s, %v", name, out, err)
			}
			continue
		}
		o := h.subject(p, fmt.Sprint("other", n))
		for _, by := range []struct {
			name, refused string
		}{{"alice", rows[name].owner}, {"bob", rows[name].member}, {"carol", rows[name].outsider}} {
			body, err := protojson.Marshal(rows[name].request(o))
			if err != nil {
				t.Fatal(err)
			}
			if by.refused == "" && !readOnly(name) {
				continue
			}
			session := h.sessionFor(name, by.name)
			in, err := h.Invoke(t.Context(), session.caller(), name, body, true)
			got := h.post(name, asJSON, body, bearer(session.AccessToken))
			if err != nil {
				var f failure
				e := errs.Of(err)
				if json.Unmarshal([]byte(got.body), &f) != nil || got.reason() != e.Reason || f.Code != e.Kind.String() || f.Message != e.Message {
					t.Errorf("%s by %s: a socket returned %v, HTTP %s", name, by.name, err, got.body)
				}
			} else if !equalJSON(t, in, []byte(got.body)) {
				t.Errorf("%s by %s: a socket returned %s, HTTP %s", name, by.name, in, got.body)
			}
			same++
		}
	}
	if same < 50 {
		t.Errorf("only %d answers were compared", same)
	}
}

// TestProtocols: Connect in protobuf, gRPC and gRPC-Web, compressed, with answers and with errors that have a reason.
func TestProtocols(t *testing.T) {
	h := newHarness(t)
	alice := h.person("alice")
	server := httptest.NewUnstartedServer(h.Handler())
	server.Config.Protocols = &http.Protocols{}
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	two := &http.Transport{Protocols: &http.Protocols{}}
	two.Protocols.SetUnencryptedHTTP2(true)
	defer two.CloseIdleConnections()
	for what, c := range map[string]struct {
		client  *http.Client
		options connect.ClientOption
	}{
		"Connect":   {server.Client(), connect.WithSendGzip()},
		"JSON":      {server.Client(), connect.WithProtoJSON()},
		"gRPC":      {&http.Client{Transport: two}, connect.WithClientOptions(connect.WithGRPC(), connect.WithSendGzip())},
		"gRPC-Web":  {server.Client(), connect.WithGRPCWeb()},
		"over h2":   {&http.Client{Transport: two}, connect.WithSendGzip()},
		"gRPC JSON": {&http.Client{Transport: two}, connect.WithClientOptions(connect.WithGRPC(), connect.WithProtoJSON())},
	} {
		client := accountv1connect.NewAccountServiceClient(c.client, server.URL, c.options)
		ask := func(query string) (*connect.Response[accountv1.SearchUsersResponse], error) {
			r := connect.NewRequest(&accountv1.SearchUsersRequest{Query: query})
			r.Header().Set("Authorization", "Bearer "+alice.AccessToken)
			return client.SearchUsers(t.Context(), r)
		}
		if res, err := ask("alice"); err != nil || len(res.Msg.Users) != 1 || res.Msg.Users[0].Id != alice.User {
			t.Errorf("%s: got %v, %v", what, res, err)
		}
		for query, want := range map[string]string{"": "bad_query", strings.Repeat("x", 1<<20+1): "request_too_large"} {
			_, err := ask(query)
			if query != "" && strings.HasPrefix(what, "gRPC") && connect.CodeOf(err) == connect.CodeResourceExhausted {
				continue // gRPC's own answer to the declared size of a message
			}
			if got := reasonOf(err); got != want || connect.CodeOf(err) != connect.CodeInvalidArgument {
				t.Errorf("%s, %d bytes: error %v with reason %q", what, len(query), err, got)
			}
		}
	}
}

// reasonOf returns the reason of an error that a client received.
func reasonOf(err error) string {
	var e *connect.Error
	if !errors.As(err, &e) || len(e.Details()) != 1 {
		return ""
	}
	v, err := e.Details()[0].Value()
	if err != nil {
		return err.Error()
	}
	return v.(*gatewayv1.Error).Reason
}

// readOnly calls change nothing.
func readOnly(name string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:]
	return strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "List") || strings.HasPrefix(name, "Search") || name == "History" || name == "Sync" || name == "SuggestFriends"
}

func equalJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var one, two bytes.Buffer
	if err := json.Compact(&one, a); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&two, b); err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(one.Bytes(), two.Bytes())
}

// TestExtremeRequests fills each request with extreme values, for a caller with most permissions. None is an internal error.
func TestExtremeRequests(t *testing.T) {
	h := newHarness(t)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	texts := []string{"", " ", "\x00", "\u202e\u2066\u200b", "' OR 1=1 --", "%_\\", "../../etc/passwd", strings.Repeat("\u0301", 10_000), strings.Repeat("字", 100_001), "18446744073709551615", "<script>", "\r\n{{.}}"}
	numbers := []uint64{0, 1, math.MaxInt32, math.MaxUint32, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64}
	rows, calls, o := matrix(), h.Calls(), subject{}
	for n, name := range slices.Sorted(maps.Keys(rows)) {
		if calls[name] == "users" {
			o = h.subject(p, fmt.Sprint("other", n))
		}
		for i := range max(len(texts), len(numbers)) {
			for _, ids := range []bool{true, false} {
				if ids && i >= len(numbers) {
					continue
				}
				m := rows[name].request(o)
				fill(m.ProtoReflect(), 0, texts[i%len(texts)], numbers[i%len(numbers)], ids)
				auth := bearer(h.sessionFor(name, "alice").AccessToken)
				if key, _ := h.keyFor(calls[name]); key != "" {
					auth = bearer(key)
				}
				if got := h.call(name, m, auth); got.status >= 500 {
					t.Errorf("%s with %.200s is answered with %d %s", name, m, got.status, got.body)
				}
			}
		}
	}
}

// fill sets each field of a message; fields that identify objects only if ids is set.
func fill(m protoreflect.Message, depth int, text string, number uint64, ids bool) {
	if depth > 4 {
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsList() && f.Kind() == protoreflect.Uint64Kind:
			list := m.Mutable(f).List()
			for k := range uint64(3) {
				list.Append(protoreflect.ValueOfUint64(number - k))
			}
		case f.IsList() || f.IsMap():
		case f.Kind() == protoreflect.MessageKind:
			if f.ContainingOneof() == nil || m.WhichOneof(f.ContainingOneof()) == f {
				fill(m.Mutable(f).Message(), depth+1, text, number, ids)
			}
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(text))
		case f.Kind() == protoreflect.BytesKind:
			m.Set(f, protoreflect.ValueOfBytes([]byte(text)))
		case f.Kind() == protoreflect.EnumKind:
			m.Set(f, protoreflect.ValueOfEnum(protoreflect.EnumNumber(int32(number))))
		case f.Kind() == protoreflect.Uint64Kind && (ids || !m.Has(f)):
			m.Set(f, protoreflect.ValueOfUint64(number))
		case f.Kind() == protoreflect.Int64Kind:
			m.Set(f, protoreflect.ValueOfInt64(int64(number)))
		case f.Kind() == protoreflect.Uint32Kind:
			m.Set(f, protoreflect.ValueOfUint32(uint32(number)))
		case f.Kind() == protoreflect.DoubleKind:
			m.Set(f, protoreflect.ValueOfFloat64(math.NaN()))
		}
	}
}
