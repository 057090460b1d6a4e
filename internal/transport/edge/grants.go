package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
)

// grant is a signed scope that the origin has confirmed.
type grant struct {
	group, post string
	ends        time.Time // of the URL
	asked       time.Time // when the question was sent
	// life is for how long the origin lets the edge rely on it; 0: until it tells of a change.
	life time.Duration
	run  uint64 // of the changes then; 0: changes are not known
	// ctx ends when the scope is purged.
	ctx context.Context
	end context.CancelCauseFunc

	transfers int       // in progress
	address   *address  // of the latest one
	doubted   time.Time // since when transfers go on without being confirmed; zero: they are
	asking    bool      // a review waits for the origin
}

// resource is what is known of a file.
type resource struct {
	group    string
	header   http.Header // for viewers
	modified time.Time
	file     blockcache.File // of one that does not change
	text     []byte          // of one that may
	until    time.Time       // of the text
}

// refusal of an origin.
type refusal struct {
	err   error
	until time.Time
}

// originError is a refusal as the origin wrote it.
type originError struct {
	status int
	body   []byte
	kind   error
}

func (e *originError) Error() string { return fmt.Sprintf("status %d: %.200s", e.status, e.body) }

// Unwrap returns the kind, for errs.Of.
func (e *originError) Unwrap() error { return e.kind }

// maxRefusalBody is more than the text of any error.
const maxRefusalBody = 2 << 10

// refusalOf returns the error of an answer with a status of 4xx.
func refusalOf(a *egress.Answer) error {
	kind := errs.New(errs.Denied, "bad_url", "this URL is not valid for this request; get a new one")
	if a.Status == http.StatusNotFound {
		kind = errNoFile
	}
	return &originError{status: a.Status, body: append([]byte(nil), a.Body[:min(len(a.Body), maxRefusalBody)]...), kind: kind}
}

// valid reports whether a grant may be relied on. The caller holds mu.
func (s *Server) valid(g *grant, now time.Time) bool {
	switch asked := now.Sub(g.asked); {
	case g.ctx.Err() != nil, !now.Before(g.ends), g.life > 0 && asked >= g.life:
		return false
	case asked < askedLife:
		return true
	}
	return g.run == s.changes.run && g.run > 0 && s.changes.fresh(now)
}

// errAgain means that what an answer says has changed meanwhile.
var errAgain = errors.New("the file has changed meanwhile")

// attempts to learn of a file that changes all the time.
const attempts = 3

// resolve returns what is known of a file, once its URL is confirmed. An answer to a question that was sent after the request came counts for it, however long
// the origin took.
func (s *Server) resolve(ctx context.Context, a *address) (g *grant, f *resource, err error) {
	came := s.deps.Clock.Now()
	for range attempts {
		if g, f, err = s.known(a, came); err != nil || f != nil {
			return g, f, err
		}
		if err = s.confirm(ctx, a, came); err != nil && !errors.Is(err, errAgain) {
			return nil, nil, err
		}
	}
	if g, f, err = s.known(a, came); err == nil && f == nil {
		err = errOrigin(errAgain)
	}
	return g, f, err
}

// known returns what need not be asked for a request; a nil resource: it has to be asked.
func (s *Server) known(a *address, came time.Time) (*grant, *resource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.deps.Clock.Now()
	if !now.Before(a.ends) {
		return nil, nil, errExpired
	}
	if r, ok := s.refusals.get(a.target); ok {
		if now.Before(r.until) {
			return nil, nil, r.err
		}
		s.refusals.remove(a.target)
	}
	g, granted := s.grants.get(a.scope)
	f, found := s.files.get(a.group + "/" + a.name)
	if !granted || !found || !s.valid(g, now) && (g.asked.Before(came) || g.ctx.Err() != nil) || f.text != nil && !now.Before(f.until) {
		return nil, nil, nil
	}
	return g, f, nil
}

var errExpired = errs.New(errs.Denied, "url_expired", "this URL has expired; get a new one")

// confirm asks an origin about a URL, once for all who want to know, unless somebody else has just asked since the request came.
func (s *Server) confirm(ctx context.Context, a *address, came time.Time) error {
	done := s.asks.DoChan(a.target, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout) // others wait for it too
		defer cancel()
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			return nil, errOrigin(ctx.Err())
		}
		if _, f, err := s.known(a, came); err != nil || f != nil {
			return nil, err
		}
		return nil, s.ask(ctx, a)
	})
	select {
	case r := <-done:
		return r.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask asks an origin about a URL. An answer about a new file has its first bytes as well.
func (s *Server) ask(ctx context.Context, a *address) error {
	s.mu.Lock()
	asked, run, number := s.deps.Clock.Now(), s.changes.run, s.changes.count
	f, found := s.files.get(a.group + "/" + a.name)
	s.mu.Unlock()
	method, header := http.MethodGet, rangeHeader(0, blockcache.BlockSize)
	if found && f.text == nil {
		method, header = http.MethodHead, nil
	}
	s.stats.Asked.Add(1)
	answer, err := s.origins.fetch(ctx, a.group, method, a.target, header)
	if err != nil {
		return err
	}
	if answer.Status >= http.StatusBadRequest {
		return s.refused(a, asked, found, refusalOf(answer))
	}
	if method == http.MethodGet {
		if f, err = s.learn(a, answer); err != nil {
			return err
		}
	} else if answer.Status != http.StatusOK || answer.Header.Get("ETag") != f.header.Get("ETag") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.files.remove(a.group + "/" + a.name)
		return errAgain
	}
	s.mu.Lock()
	if s.changes.since(number, a.group, a.post) {
		s.mu.Unlock()
		s.cache.RemoveGroup(a.group) // the bytes of the answer are there again
		return errAgain
	}
	g := s.granted(a.scope)
	if g == nil {
		g = &grant{group: a.group, post: a.post, ends: a.ends}
		g.ctx, g.end = context.WithCancelCause(context.Background())
	}
	g.asked, g.run, g.life, g.doubted = asked, run, lifeOf(answer.Header), time.Time{}
	s.grants.put(a.scope, g, entryCost)
	s.files.put(a.group+"/"+a.name, f, entryCost+len(f.text))
	s.mu.Unlock()
	s.cache.Confirm(a.group)
	return nil
}

// granted returns the grant of a scope that has not ended; nil: there is none. The caller holds mu.
func (s *Server) granted(scope string) *grant {
	for _, g := range []*grant{s.grants.peek(scope), s.running[scope]} { // one with transfers may have been dropped from grants
		if g != nil && g.ctx.Err() == nil {
			return g
		}
	}
	return nil
}

// refused remembers a refusal, and forgets the grant: also if a file that was known is not there, since its post may be hidden.
func (s *Server) refused(a *address, asked time.Time, wasKnown bool, err error) error {
	if a.isMedia() && errs.Is(err, errs.NotFound) {
		s.cache.RemoveGroup(a.group)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals.put(a.target, &refusal{err, asked.Add(refusalLife)}, entryCost+maxRefusalBody)
	if wasKnown || errs.Is(err, errs.Denied) {
		s.revoke(a.scope, err)
	}
	return err
}

// revoke forgets the grant of a scope, and ends its transfers. The caller holds mu.
func (s *Server) revoke(scope string, err error) {
	for _, g := range []*grant{s.grants.peek(scope), s.running[scope]} {
		if g != nil {
			g.end(err)
		}
	}
	s.grants.remove(scope)
}

// kept headers of an origin are for viewers.
var keptHeaders = []string{"Content-Type", "Content-Disposition", "Content-Security-Policy", "X-Content-Type-Options", resourcePolicy, "Cache-Control", "Etag"}

// resourcePolicy is the header that says which sites may show a file.
const resourcePolicy = "Cross-Origin-Resource-Policy"

// learn reads an answer with the beginning of a file, and keeps its bytes.
func (s *Server) learn(a *address, answer *egress.Answer) (*resource, error) {
	from, size, err := contentRange(answer)
	if err != nil || from != 0 {
		return nil, errOrigin(err)
	}
	f := &resource{group: a.group, header: http.Header{}}
	for _, name := range keptHeaders {
		if v := answer.Header.Get(name); v != "" {
			f.header.Set(name, v)
		}
	}
	if f.header.Get(resourcePolicy) != "" { // the page that shows it is of another site: its signed URL grants access, and no cookie
		f.header.Set(resourcePolicy, "cross-origin")
	}
	if t, err := http.ParseTime(answer.Header.Get("Last-Modified")); err == nil {
		f.modified = t
	}
	tag := answer.Header.Get("ETag")
	if !strings.Contains(answer.Header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(tag, `"`) || size == 0 {
		if size != int64(len(answer.Body)) {
			return nil, errOrigin(fmt.Errorf("a file that may change has %d bytes", size))
		}
		f.text, f.until = append([]byte{}, answer.Body...), s.deps.Clock.Now().Add(textLife)
		return f, nil
	}
	f.file = blockcache.File{Group: a.group, Name: a.name + " " + tag, Size: size}
	s.cache.Put(f.file, 0, answer.Body)
	return f, nil
}

// lifeOf reads for how long an edge may rely on an answer.
func lifeOf(h http.Header) time.Duration {
	seconds, ok := strings.CutPrefix(h.Get("Surrogate-Control"), "max-age=")
	if n, err := strconv.ParseUint(seconds, 10, 31); ok && err == nil {
		return max(time.Duration(n)*time.Second, time.Nanosecond)
	}
	return 0
}
