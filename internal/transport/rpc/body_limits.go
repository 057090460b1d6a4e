package rpc

import (
	"context"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/gzip"
	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/sdk/go/gen/id/v1/idv1connect"
	"google.golang.org/protobuf/proto"
)

const (
	bodyTime   = time.Minute     // for reading the body
	answerTime = 2 * time.Minute // from the start of the request until its answer is written
	// chunkSize bytes of a body, or its end, must arrive in chunkTime, or in unauthenticatedChunkTime without credentials.
	chunkSize                = 16 << 10
	chunkTime                = 30 * time.Second
	unauthenticatedChunkTime = 10 * time.Second
	// minCompressed is the size in bytes from which on answers are compressed. A smaller one fits into a packet as it is.
	minCompressed = 1 << 10
	// maxInflation bounds the decompressed size of a compressed body, as a multiple of its size.
	maxInflation = 1032
)

var (
	errTooLarge                = errs.New(errs.Invalid, "request_too_large", "a request has at most 1 MiB after decompression")
	errTooLargeUnauthenticated = errs.New(errs.Invalid, "request_too_large", "a request without credentials has at most 16 KiB")
	errTooManyCalls            = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "too many calls without credentials are made now; try again", Retry: time.Second}
	errTooSlow                 = &errs.Error{Kind: errs.Unavailable, Reason: "too_slow", Message: "the request did not arrive in time; try again, on a faster connection", Retry: time.Second}
	errCompressed              = errs.New(errs.Invalid, "compressed", "a request without credentials must not be compressed")
)

// refusals are answers to bodies, the same ones for all calls.
type refusals struct {
	writer                                           *connect.ErrorWriter
	tooLarge, tooLargeUnauthenticated, busy, tooSlow error
}

func (s *Server) newRefusals() refusals {
	failure := func(err error) error { return s.failure("", err) } // none of them is internal, so no method is logged
	return refusals{connect.NewErrorWriter(), failure(errTooLarge), failure(errTooLargeUnauthenticated), failure(inputlimit.ErrBusy), failure(errTooSlow)}
}

// options of a call's handler.
func (s *Server) options(p *procedure) []connect.HandlerOption {
	// Programs of operators make calls with wide effects: one that means to show a post and misspells that must not hide it. Clients of users may be newer than the server.
	lax := p.access != serverAccess && p.access != operatorAccess
	tooLarge, schema := s.refusals.tooLarge, p.request().schema
	least := minCompressed
	if strings.HasPrefix(p.name, "/"+idv1connect.IDServiceName+"/") {
		least = math.MaxInt // ids hardly compress, and gzip would take longer than the call
	}
	return []connect.HandlerOption{
		connect.WithCompressMinBytes(least), connect.WithReadMaxBytes(maxRequest), connect.WithRequestInitializer(p.open),
		connect.WithCodec(protoCodec{schema}), connect.WithCodec(jsonCodec{"json", schema, lax}), connect.WithCodec(jsonCodec{"json; charset=utf-8", schema, lax}),
		connect.WithCompression("gzip", func() connect.Decompressor { return &gunzip{tooLarge: tooLarge} }, newCompressor),
	}
}

// newCompressor compresses fast: at the default level, gzip takes a fifth of the time of a page of posts.
func newCompressor() connect.Compressor {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil { // only for a level that does not exist
		panic(err)
	}
	return w
}

// incoming is a request whose headers have been read.
type incoming struct {
	caller  id.Caller
	network netip.Prefix
	err     error // the refusal of the request, or nil
	body    *body
	owner   budget.Owner // of the body and of the answer
	answer  *outputlimit.AnswerWriter
	request *http.Request // its headers
	waited  time.Duration // for something to answer, which is not the time of the call
}

type incomingKey struct{}

var errNoHeaders = errs.New(errs.Internal, "internal", "the server failed; try again")

func incomingOf(ctx context.Context) *incoming {
	if in, ok := ctx.Value(incomingKey{}).(*incoming); ok {
		return in
	}
	return &incoming{err: errNoHeaders, body: &body{}}
}

// hasKnownType reports whether a request has the content type of one of the protocols.
func hasKnownType(r *http.Request) bool {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return false
	case kind == "application/json":
		charset := parameters["charset"]
		return charset == "" || strings.EqualFold(charset, "utf-8")
	}
	return kind == "application/proto" || strings.HasPrefix(kind, "application/grpc") || strings.HasPrefix(kind, "application/connect+")
}

// closeIfLarge closes the connection after the answer to a refused request, unless the body is small: otherwise net/http reads it to its end.
func closeIfLarge(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > maxUnauthenticated) {
		w.Header().Set("Connection", "close")
	}
}

// refuseContentType answers a request whose content type is that of no protocol. Without -H, curl sends that of a form.
func refuseContentType(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Accept-Post", "application/json, application/proto")
	closeIfLarge(w, r)
	w.WriteHeader(http.StatusUnsupportedMediaType)
	_, _ = w.Write([]byte(`{"code":"invalid_argument","message":"send the header Content-Type: application/json (or application/proto)"}`)) // the client may have disconnected
}

// identify counts the connection of a request as one of its user, and no longer as one without credentials. A business server calls for many users.
func (s *Server) identify(ctx context.Context, c id.Caller) error {
	slot := inputlimit.SlotOf(ctx)
	if !c.Server && c.User != 0 && !slot.Identify(s.userConnections, uint64(c.User)) {
		return inputlimit.ErrUserConnections
	}
	slot.Release()
	return nil
}

// withBodyLimits authenticates a request before it reads the body, and rejects bodies that are too large or too slow, or for which
// there is no memory. Connect has a size limit too, but reads the excess to the end, which may never come.
func (s *Server) withBodyLimits(m method) http.Handler {
	figures, refusals := s.deps.Calls.Named(m.name), s.refusals
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A writer without deadlines, such as a recorder in a test, has no slow client.
		connection, now := http.NewResponseController(w), time.Now()
		if !hasKnownType(r) {
			figures.Done(uint32(now.Nanosecond()), time.Since(now), telemetry.ErrUnimplemented)
			refuseContentType(w, r)
			return
		}
		_, _ = connection.SetReadDeadline(now.Add(bodyTime)), connection.SetWriteDeadline(now.Add(answerTime))
		from := ratelimit.Network(r.RemoteAddr, r.Header, s.deps.Proxied)
		ctx := ratelimit.WithNetwork(r.Context(), from)
		answer := s.deps.Answers.NewAnswerWriter(ctx, w, answerTime)
		defer answer.Close()
		b := s.newBody(r, connection, now)
		in := &incoming{body: b, answer: answer, network: from, request: r}
		if in.err = s.checkOverload(m.work, r.Header); in.err != nil {
			// Nothing else is done for it.
		} else if in.caller, in.err = s.authenticate(ctx, m.name, m.access, r.Header); m.access == anonymousAccess {
			b.remaining, b.tooLarge, b.chunkTime, b.memory = maxUnauthenticated, refusals.tooLargeUnauthenticated, unauthenticatedChunkTime, s.deps.Input.Unauthenticated
			b.owner.Network = from
			slot, ok := s.unauthenticated.Acquire(from)
			defer slot.Release()
			through, err := s.deps.Connections.AcquireForRequest(ctx, from)
			defer through.Release()
			switch {
			case in.err != nil: // its network is banned
			case !ok:
				in.err = errTooManyCalls
			case b.compressed:
				in.err = errCompressed
			default:
				in.err = err
			}
		} else if in.err == nil {
			if in.err = s.identify(ctx, in.caller); in.err != nil {
				w.Header().Set("Connection", "close") // else the connection would stay one without credentials
			}
			if !in.caller.Server { // a business server calls for many users from one address
				b.owner = budget.Owner{User: uint64(in.caller.User), Network: from}
			}
		}
		in.owner = budget.Owner{User: uint64(in.caller.User), Network: b.owner.Network}
		if in.err != nil && refusals.writer.IsSupported(r) {
			closeIfLarge(w, r)
			_ = connection.SetReadDeadline(now.Add(unauthenticatedChunkTime))
			figures.Done(uint32(now.Nanosecond()), time.Since(now), asTimeout(in.err))
			_ = refusals.writer.Write(w, r, s.failure(m.name, in.err)) // the client may have disconnected
			return
		}
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			b.remaining += 5 // before each message
		}
		defer b.hold.Release()
		r = r.WithContext(context.WithValue(ctx, incomingKey{}, in))
		r.Body = b
		m.handler.ServeHTTP(answer, r)
	})
}

// checkOverload refuses a request for which there is no capacity, before it is authenticated and its body is read.
func (s *Server) checkOverload(work callWork, h http.Header) error {
	if s.deps.Overload == nil || work.waits {
		return nil
	}
	if hasAPIKey(h) {
		work = work.byServer()
	}
	return s.deps.Overload.Check(work.class, work.priority)
}

// compressed reports whether the body of a request is compressed, in any of the protocols.
func compressed(h http.Header) bool {
	for _, name := range []string{"Content-Encoding", "Grpc-Encoding", "Connect-Content-Encoding"} {
		if e := h.Get(name); e != "" && e != "identity" {
			return true
		}
	}
	return false
}

// minCountedAnswer is the size from which an answer is counted.
const minCountedAnswer = 16 << 10

// countAnswer counts an answer until it is written, or refuses it if too many are unread.
func countAnswer(ctx context.Context, answer proto.Message) error {
	in, ok := ctx.Value(incomingKey{}).(*incoming)
	if !ok || proto.Size(answer) < minCountedAnswer {
		return nil
	}
	return in.answer.Hold(in.owner, outputlimit.Size(ctx, answer))
}

// body is the body of a request, of at most remaining bytes.
type body struct {
	io.ReadCloser
	connection *http.ResponseController
	remaining  int64
	tooLarge   error
	busy       error
	tooSlow    error
	compressed bool
	memory     *budget.Budget
	owner      budget.Owner
	hold       budget.Hold
	received   int64
	started    time.Time
	chunkTime  time.Duration // in which chunkSize bytes must arrive
	chunkLeft  int64         // bytes until the next deadline
}

// newBody returns the body of a request with credentials that began at a time.
func (s *Server) newBody(r *http.Request, connection *http.ResponseController, began time.Time) *body {
	return &body{ReadCloser: r.Body, connection: connection, started: began, busy: s.refusals.busy, tooSlow: s.refusals.tooSlow,
		remaining: maxRequest, tooLarge: s.refusals.tooLarge, chunkTime: chunkTime, memory: s.deps.Input.Authenticated, compressed: compressed(r.Header)}
}

// Read fails at the first byte above the limit, if bytes arrive too slowly, and if there is no memory for them.
func (b *body) Read(p []byte) (int, error) {
	if b.remaining < 0 {
		return 0, b.tooLarge
	}
	if b.chunkLeft <= 0 {
		b.chunkLeft = chunkSize
		b.deadline(time.Now().Add(b.chunkTime))
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.remaining+1)])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, b.tooSlow // the error of the connection has its addresses
	}
	b.chunkLeft -= int64(n)
	b.received += int64(n)
	if b.remaining -= int64(n); b.remaining < 0 {
		return n - 1, b.tooLarge
	}
	holds := b.received
	if b.compressed {
		holds += min(maxRequest, maxInflation*b.received)
	}
	if !b.hold.Set(b.memory, b.owner, int(holds)) {
		b.remaining = -1 // for later reads
		b.tooLarge = b.busy
		return n, b.busy
	}
	return n, err
}

// deadline sets the deadline of the next bytes, at most bodyTime after the start.
func (b *body) deadline(at time.Time) {
	if last := b.started.Add(bodyTime); at.After(last) {
		at = last
	}
	_ = b.connection.SetReadDeadline(at) // without deadlines there is no slow client
}

// setDecoded records that the body is complete and decoded. Later reads only detect a client that disconnects. In HTTP/1.1 their deadline ends the
// call too, so it is that of no call.
func (b *body) setDecoded() {
	b.hold.Release()
	if b.connection != nil {
		_ = b.connection.SetReadDeadline(time.Now().Add(2 * callTime)) // as above
	}
}

// gunzip decompresses a request, to at most maxRequest bytes. Connect would also decompress the rest, to report its size.
type gunzip struct {
	gzip.Reader
	left     int64
	tooLarge error
}

// Reset starts another request.
func (u *gunzip) Reset(r io.Reader) error {
	u.left = maxRequest
	return u.Reader.Reset(r)
}

// Read fails at the first byte above the limit.
func (u *gunzip) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, u.tooLarge
	}
	return n, err
}
