package push_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/service/push"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

// FuzzAnswers: whatever a provider answers, what becomes of a push is one of the results, a pause has a bound, and what is kept of the answer is readable and
// has no credentials. Access tokens are valid for a day at most.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{"", "null", "[]", "<html>", `{"code":0}`, `{"code":"80000000"}`, `{"code":"80300007","msg":"x"}`, `{"code":"80200001","msg":"of secret-token"}`, `{"code":20001,"msg":"target user is invalid of secret-token"}`, `{"code":10029}`,
		`{"code":1e99}`, `{"reason":"Unregistered"}`, `{"reason":"ExpiredProviderToken"}`, `{"error":{"status":"NOT_FOUND","details":[{"errorCode":"UNREGISTERED"}]}}`, `{"error":{"status":"a\n\u0000b","details":[{}]}}`,
		`{"access_token":"x","expires_in":3600}`, `{"access_token":"x","expires_in":9223372036854775807}`, `{"access_token":"x","expires_in":-9223372036854775808}`, `{"code":0,"data":{"token":"x","expire_time":"9223372036854775807"}}`,
		`{"code":0,"data":{"token":"x","expire_time":"-9223372036854775808"}}`} {
		for _, status := range []int{200, 401, 404, 429, 503} {
			f.Add(status, []byte(body), "")
		}
	}
	f.Add(429, []byte{}, "4294967295")
	f.Add(503, []byte("x"), "Fri, 31 Dec 9999 23:59:59 GMT")
	f.Fuzz(func(t *testing.T, status int, body []byte, after string) {
		if status < 100 || status > 999 { // net/http refuses it
			return
		}
		c := clocktest.NewManual()
		answer := &egress.Answer{Status: status, Header: http.Header{"Retry-After": {after}}, Body: body}
		for _, provider := range []string{"fcm", "apns", "huawei", "xiaomi", "getui"} {
			kind, wait, detail := push.AnswerOf(c, provider, answer, "secret-token")
			switch kind {
			case pushv1.PushResult_PUSH_RESULT_SENT, pushv1.PushResult_PUSH_RESULT_RETRY, pushv1.PushResult_PUSH_RESULT_FAILED, pushv1.PushResult_PUSH_RESULT_GONE:
			default:
				t.Errorf("%s: %d %q is %v", provider, status, body, kind)
			}
			if wait < 0 || wait > time.Hour || len(detail) > 500 || !utf8.ValidString(detail) || strings.ContainsAny(detail, "\x00\r\n") || strings.Contains(detail, "secret-token") {
				t.Errorf("%s: %d %q is %v, a pause of %v, and %q", provider, status, body, kind, wait, detail)
			}
		}
		oauth, getui := push.TokensOf(c.Now(), answer)
		if oauth < -1 || oauth > 24*time.Hour || getui < -1 || getui > 24*time.Hour {
			t.Errorf("%d %q has tokens for %v, %v", status, body, oauth, getui)
		}
	})
}
