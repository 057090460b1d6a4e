package media_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/service/media"
)

// slowBody says when it is read, and ends when it may.
type slowBody struct {
	once  sync.Once
	begun chan<- struct{}
	end   <-chan struct{}
}

func (b *slowBody) Read([]byte) (int, error) {
	b.once.Do(func() { b.begun <- struct{}{} })
	<-b.end
	return 0, io.EOF
}

// TestBodiesWithoutALength that are slow block only those of the same user. What has no turn in time is told to come again.
func TestBodiesWithoutALength(t *testing.T) {
	r := open(t, media.Config{})
	r.totalsUnchecked = true // incomplete uploads
	r.SetBufferWait(time.Millisecond)
	begun, end := make(chan struct{}), make(chan struct{})
	var slow sync.WaitGroup
	hold := func(user int) {
		url := r.createTus(10, bearerOf(user))
		slow.Go(func() {
			if w := r.patch(url, 0, &slowBody{begun: begun, end: end}, bearerOf(user)); w.Code != http.StatusNoContent {
				t.Errorf("the slow body of user %d: %d %s", user, w.Code, w.Body)
			}
		})
		eventually.Receive(t, "the slow body is read", begun)
	}
	quick := func(user int) *httptest.ResponseRecorder {
		return r.patch(r.createTus(10, bearerOf(user)), 0, struct{ io.Reader }{strings.NewReader("0123456789")}, bearerOf(user))
	}
	busy := func(what string, user int) {
		t.Helper()
		w := quick(user)
		wantStatus(t, what, w, http.StatusServiceUnavailable, "busy")
		if w.Header().Get("Retry-After") != "5" {
			t.Errorf("%s: %v", what, w.Header())
		}
	}
	passes := func(what string, user int) {
		t.Helper()
		if w := quick(user); w.Code != http.StatusNoContent {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	hold(1)
	hold(1)
	busy("the third of one user", 1)
	passes("another user", 2)
	for _, user := range []int{3, 3, 4, 4, 5, 5} {
		hold(user)
	}
	busy("the ninth of all", 2)
	close(end)
	eventually.Done(t, "the slow bodies end", &slow)
	passes("afterwards", 1)
}

func bearerOf(user int) string { return "Authorization: Bearer user " + strconv.Itoa(user) }
