package errs_test

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
)

func TestWriteHTTP(t *testing.T) {
	busy := errs.New(errs.Unavailable, "busy", `"too many"`)
	busy.Retry = 1500 * time.Millisecond
	for _, c := range []struct {
		err              error
		status           int
		body, retryAfter string
	}{
		{busy, 503, `{"code":"unavailable","message":"\"too many\"","reason":"busy"}`, "2"},
		{errs.Wrap(errs.Denied, "no", "not yours", errors.New("secret")), 403, `{"code":"permission_denied","message":"not yours","reason":"no"}`, ""},
		{errors.New("secret"), 500, `{"code":"internal","message":"the server failed; try again","reason":"internal"}`, ""},
	} {
		w := httptest.NewRecorder()
		errs.WriteHTTP(w, c.err)
		if got := w.Body.String(); w.Code != c.status || got != c.body+"\n" || w.Header().Get("Retry-After") != c.retryAfter || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%v is answered with %d, %q and the header %v; want %d, %q and Retry-After %q", c.err, w.Code, got, w.Header(), c.status, c.body, c.retryAfter)
		}
	}
}
