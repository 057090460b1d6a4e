package edge

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
)

// ServeHTTP serves files by signed URLs, and sends uploads on.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if isUpload(r) {
		s.serveUpload(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD, PUT")
		http.Error(w, "an edge has files to be read, and takes uploads by presigned URLs and by S3; all else goes to the other nodes", http.StatusMethodNotAllowed)
		return
	}
	err := s.serve(w, r)
	switch {
	case err == nil:
		s.stats.Served.Add(1)
		return
	case r.Context().Err() != nil:
		return // the viewer has gone
	case errs.IsRefusal(err):
		s.stats.Refused.Add(1)
	default:
		s.stats.Failed.Add(1)
	}
	w.Header().Set("Cache-Control", "no-store")
	var refused *originError
	if errors.As(err, &refused) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(refused.status)
		_, _ = w.Write(refused.body) // the viewer may have gone
		return
	}
	if errs.Is(err, errs.Internal) {
		s.deps.Logger.Error("a file could not be served", "error", err)
	}
	errs.WriteHTTP(w, err)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	a, err := parse(r.URL)
	if err != nil {
		return err
	}
	g, f, err := s.resolve(r.Context(), a)
	if err != nil {
		return err
	}
	h := w.Header()
	for name, values := range f.header {
		h[name] = values
	}
	if f.text != nil {
		http.ServeContent(outputlimit.ForFile(w, r, int64(len(f.text))), r, "", f.modified, bytes.NewReader(f.text))
		return nil
	}
	if age := min(s.config.CDNMaxAge, a.ends.Sub(s.deps.Clock.Now())).Truncate(time.Second); age > 0 {
		h.Set("Cache-Control", "public, max-age=43200, s-maxage="+strconv.Itoa(int(age/time.Second))+", immutable")
	}
	defer s.begin(g, a)()
	ctx, cancel := context.WithCancelCause(g.ctx) // a purge ends it at once
	defer cancel(nil)
	stop := context.AfterFunc(r.Context(), func() { cancel(context.Cause(r.Context())) })
	defer stop()
	reader := s.cache.NewReader(ctx, f.file, s.source(a, f))
	defer reader.Close()
	err = blockcache.ServeContent(outputlimit.ForFile(w, r, f.file.Size), r, f.modified, reader)
	if err != nil {
		for name := range f.header {
			h.Del(name)
		}
	}
	return err
}
