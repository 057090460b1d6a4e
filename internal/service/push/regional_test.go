package push_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/push"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

const (
	huawei = pushv1.PushProvider_PUSH_PROVIDER_HUAWEI
	xiaomi = pushv1.PushProvider_PUSH_PROVIDER_XIAOMI
	getui  = pushv1.PushProvider_PUSH_PROVIDER_GETUI
)

// attempted has messages written until there are as many attempts, with time for each to be tried again, and returns their results.
func (w *world) attempted(n int) []*pushv1.PushAttempt {
	w.t.Helper()
	for made := len(w.attempts()); made < n; made = len(w.attempts()) {
		if list := w.attempts(); made == 0 || list[made-1].Result != pushv1.PushResult_PUSH_RESULT_RETRY {
			w.say("hello")
			w.examine()
		} else {
			w.pass(2 * time.Minute)
		}
		w.results(made + 1)
		w.idle()
	}
	return w.attempts()
}

func names(list []*pushv1.PushAttempt) string {
	var names []string
	for _, a := range list {
		names = append(names, strings.ToLower(strings.TrimPrefix(a.Result.String(), "PUSH_RESULT_")))
	}
	return strings.Join(names, " ")
}

// ok is an answer with a body.
func ok(body string) answer { return answer{status: 200, body: body} }

func paths(s *service) (list []string) {
	for _, r := range s.requests() {
		list = append(list, r.path)
	}
	return list
}

// Huawei gets an access token for the app's secret, which is used until it ends or is refused, and says by codes of its own what became of a message.
func TestHuawei(t *testing.T) {
	for project, send := range map[string]string{"": "POST /v1/app-1/messages:send", "project-1": "POST /v2/project-1/messages:send"} {
		at := newService(t)
		w := open(t, func(c *push.Config) {
			c.Huawei = push.HuaweiConfig{AppID: "app-1", AppSecret: "s3cret", ProjectID: project, BadgeClass: "com.example.Main", Category: "IM", URL: at.URL, TokenURL: at.URL + "/oauth2/v3/token"}
		})
		w.run()
		w.device(huawei, "hms-token")
		grant := func(token string) answer {
			return ok(`{"access_token":"` + token + `","expires_in":3600,"token_type":"Bearer"}`)
		}
		code := func(code, text string) answer {
			return ok(`{"code":"` + code + `","msg":"` + text + `","requestId":"1"}`)
		}
		at.answer(grant("a"), code("80000000", "Success"), code("80200003", "token a expired"), grant("b"), code("80000000", "Success"),
			answer{status: 503}, code("80000000", "Success"), code("81000001", "System inner error"), code("80000000", "Success"), code("80300002", "no permission"), code("80300007", "All tokens are invalid"))
		_, err := w.SetSettings(t.Context(), bob, &pushv1.PushSettings{ShowText: true})
		must(t, err)
		list := w.attempted(9)
		if got := names(list); got != "sent retry sent retry sent retry sent failed gone" || len(w.list(bob, 1)) != 0 {
			t.Errorf("the attempts are %s", got)
		}
		if list[1].Detail != "80200003 token … expired" || list[8].Detail != "80300007 All tokens are invalid" {
			t.Errorf("the trace says %q and %q", list[1].Detail, list[8].Detail)
		}
		token := "POST /oauth2/v3/token"
		if got := paths(at); !slices.Equal(got, []string{token, send, send, token, send, send, send, send, send, send, send}) {
			t.Errorf("the requests are %v", got)
		}
		form, err := url.ParseQuery(string(at.requests()[0].body))
		must(t, err)
		if form.Get("grant_type") != "client_credentials" || form.Get("client_id") != "app-1" || form.Get("client_secret") != "s3cret" {
			t.Errorf("the token is requested by %v", form)
		}
		first, second := at.requests()[1], at.requests()[4]
		if first.header.Get("Authorization") != "Bearer a" || second.header.Get("Authorization") != "Bearer b" {
			t.Errorf("the calls have %q and %q", first.header.Get("Authorization"), second.header.Get("Authorization"))
		}
		v := decode(t, first.body)
		shown := child(v, "message", "android", "notification").(map[string]any)
		if tokens := child(v, "message", "token").([]any); len(tokens) != 1 || tokens[0] != "hms-token" || shown["title"] != "Ann" || shown["body"] != "hello" || shown["tag"] != "c"+talk.String() ||
			child(shown, "click_action", "type") != 3.0 || child(shown, "badge", "set_num") != 1.0 || child(v, "message", "android", "ttl") != "86400s" || child(v, "message", "android", "category") != "IM" ||
			child(decode(t, []byte(child(v, "message", "data").(string))), "conversation") != talk.String() {
			t.Errorf("the message is %v", v)
		}
	}
}

// A token is that of one device: what an API reads as a list of them is refused.
func TestATokenIsOfOneDevice(t *testing.T) {
	at := newService(t)
	w := open(t, func(c *push.Config) {
		c.Xiaomi = push.XiaomiConfig{AppSecret: "s3cret", Package: "com.example.chat", URL: at.URL}
	})
	for token, want := range map[string]string{"mine,another": "bad_push_subscription", "mine another": "bad_push_subscription", "mine\n": "bad_push_subscription", "m\u00efne": "bad_push_subscription", "reg/id+1=:_-.": ""} {
		_, err := w.Register(t.Context(), id.Caller{User: bob, Session: 1}, &pushv1.RegisterPushRequest{Provider: xiaomi, Token: token})
		if got := reason(err); got != want {
			t.Errorf("the token %q: %q, want %q", token, got, want)
		}
	}
}

// Xiaomi is called with the app's secret, by a form, and answers with codes.
func TestXiaomi(t *testing.T) {
	at := newService(t)
	w := open(t, func(c *push.Config) {
		c.Xiaomi = push.XiaomiConfig{AppSecret: "s3cret", Package: "com.example.chat", Channel: "high", URL: at.URL}
	})
	w.run()
	w.device(xiaomi, "reg/id+1")
	sent := ok(`{"result":"ok","code":0,"data":{"id":"1"}}`)
	at.answer(sent, ok(`{"result":"error","code":10002,"description":"busy"}`), sent, ok(`{"result":"error","code":10027,"description":"too often"}`), sent, ok(`{"result":"error","code":21301,"description":"auth"}`),
		ok(`<html>`), answer{status: 500}, sent, ok(`{"result":"error","code":20301,"reason":"Message too long"}`), ok(`{"result":"error","reason":"No valid targets!","code":20301,"description":"failed"}`))
	list := w.attempted(11)
	if got := names(list); got != "sent retry sent retry sent failed failed retry sent failed gone" || len(w.list(bob, 1)) != 0 {
		t.Errorf("the attempts are %s", got)
	}
	if list[10].Detail != "20301 failed No valid targets!" {
		t.Errorf("the trace says %q", list[10].Detail)
	}
	if wait := list[4].TimeMs - list[3].TimeMs; wait < 60_000 {
		t.Errorf("the provider was called %d ms after it asked for a pause, want at least a minute", wait)
	}
	first := at.requests()[0]
	form, err := url.ParseQuery(string(first.body))
	must(t, err)
	for name, want := range map[string]string{"registration_id": "reg/id+1", "restricted_package_name": "com.example.chat", "pass_through": "0", "title": "New message", "description": "Open the app to read it.",
		"notify_id": fmt.Sprint(uint64(talk)%(1<<31-1) + 1), "time_to_live": "86400000", "extra.channel_id": "high"} {
		if form.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, form.Get(name), want)
		}
	}
	if first.path != "POST /v3/message/regid" || first.header.Get("Authorization") != "key=s3cret" || child(decode(t, []byte(form.Get("payload"))), "conversation") != talk.String() {
		t.Errorf("the first request is %s with %v", first.path, form)
	}
	_, err = w.SetSettings(t.Context(), bob, &pushv1.PushSettings{ShowText: true})
	must(t, err)
	w.device(xiaomi, "reg-2")
	w.write(ann, talk, strings.Repeat("很", 300), bob)
	w.examine()
	w.results(12)
	form, err = url.ParseQuery(string(at.requests()[11].body))
	must(t, err)
	if text := []rune(form.Get("description")); form.Get("title") != "Ann" || len(text) != 127 || text[126] != '…' {
		t.Errorf("a long text is shown as %q: %q", form.Get("title"), string(text))
	}
}

// Getui gives a token for a signature, which is used until it ends or is refused. Each attempt has an id of its own, since one that comes again is lost.
func TestGetui(t *testing.T) {
	at := newService(t)
	w := open(t, func(c *push.Config) {
		c.Getui = push.GetuiConfig{AppID: "app-1", AppKey: "key-1", MasterSecret: "s3cret", URL: at.URL}
	})
	w.run()
	w.device(getui, "cid-1")
	grant := func(token string) answer {
		return ok(`{"code":0,"msg":"","data":{"expire_time":"` + strconv.FormatInt(w.clock.Now().Add(24*time.Hour).UnixMilli(), 10) + `","token":"` + token + `"}}`)
	}
	sent := ok(`{"code":0,"msg":"success","data":{"RASS_1":{"cid-1":"successed_offline"}}}`)
	refused := func(status int, code, text string) answer {
		return answer{status: status, body: `{"code":` + code + `,"msg":"` + text + `"}`}
	}
	at.answer(grant("a"), sent, refused(401, "10001", "token error"), refused(401, "10003", "too many auths"), grant("b"), sent, refused(401, "10005", "too often"), sent, refused(400, "20001", "title is invalid"),
		refused(400, "20001", "target user is invalid"))
	list := w.attempted(8)
	if got := names(list); got != "sent retry retry sent retry sent failed gone" || len(w.list(bob, 1)) != 0 {
		t.Errorf("the attempts are %s", got)
	}
	if list[1].Status != 401 || list[1].Detail != "10001 token error" || !strings.Contains(list[2].Detail, "too many auths") {
		t.Errorf("the trace says %v and %v", list[1], list[2])
	}
	auth, send := "POST /v2/app-1/auth", "POST /v2/app-1/push/single/cid"
	if got := paths(at); !slices.Equal(got, []string{auth, send, send, auth, auth, send, send, send, send, send}) {
		t.Errorf("the requests are %v", got)
	}
	signed := decode(t, at.requests()[0].body)
	sum := sha256.Sum256([]byte("key-1" + signed["timestamp"].(string) + "s3cret"))
	if signed["appkey"] != "key-1" || signed["sign"] != hex.EncodeToString(sum[:]) {
		t.Errorf("the token is requested by %v", signed)
	}
	ids := map[any]bool{}
	for i, r := range at.requests() {
		if r.path != send {
			continue
		}
		v := decode(t, r.body)
		shown := child(v, "push_message", "notification").(map[string]any)
		if n := len(v["request_id"].(string)); n < 10 || n > 32 || ids[v["request_id"]] {
			t.Errorf("request %d has the id %v", i, v["request_id"])
		}
		ids[v["request_id"]] = true
		if cids := child(v, "audience", "cid").([]any); len(cids) != 1 || cids[0] != "cid-1" || shown["title"] != "New message" || shown["click_type"] != "payload" || child(v, "settings", "ttl") != 86400000.0 ||
			child(decode(t, []byte(shown["payload"].(string))), "conversation") != talk.String() || r.header.Get("Token") != map[bool]string{true: "a", false: "b"}[i < 4] {
			t.Errorf("request %d is %v with the token %q", i, v, r.header.Get("Token"))
		}
	}
}

// While the token endpoint fails, deliveries fail at once by the same answer, and do not ask it one after the other.
func TestTokenEndpointsAreNotFlooded(t *testing.T) {
	at := newService(t)
	w := open(t, func(c *push.Config) {
		c.Huawei = push.HuaweiConfig{AppID: "app-1", AppSecret: "s3cret", URL: at.URL, TokenURL: at.URL + "/token"}
	})
	w.device(huawei, "hms-token")
	at.answer(answer{status: 403}, answer{status: 403})
	w.say("hello")
	w.write(ann, crowd, "hello", bob)
	w.change(func() { w.state[crowd].Large = false })
	w.examine()
	w.run()
	if got := w.results(2); got != "retry retry" || len(at.requests()) != 1 {
		t.Errorf("the attempts are %s, by %v", got, paths(at))
	}
	if a := w.attempts()[0]; !strings.Contains(a.Detail, "status 403") || strings.Contains(a.Detail, "s3cret") {
		t.Errorf("the trace says %q", a.Detail)
	}
}

func TestRegionalConfig(t *testing.T) {
	for says, c := range map[string]push.Config{
		"push.huawei: give app_id": {Huawei: push.HuaweiConfig{AppID: "1"}},
		"push.huawei: token_url":   {Huawei: push.HuaweiConfig{TokenURL: "ftp://x"}},
		"push.xiaomi: give":        {Xiaomi: push.XiaomiConfig{Package: "com.example"}},
		"push.xiaomi: url":         {Xiaomi: push.XiaomiConfig{URL: "http://example.com"}},
		"push.getui: give":         {Getui: push.GetuiConfig{AppID: "1", AppKey: "2"}},
		"push.getui: url":          {Getui: push.GetuiConfig{URL: "x"}},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want an error that says %s", err, says)
		}
	}
}
