package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
	"github.com/rialto-im/rialto/internal/service/account"
	rialto "github.com/rialto-im/rialto/sdk/go"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/id/v1/idv1connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func key(t *testing.T, h *Node) string {
	t.Helper()
	k, err := h.accounts.CreateKey(t.Context(), account.NewKey{Name: "tests"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// withKey sends a key with each request.
func withKey(key string) connect.ClientOption {
	return connect.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+key)
			return next(ctx, r)
		}
	}))
}

// TestIDsOverEachProtocol: on one listener without TLS, each protocol gets ids above those of the others, and errors with reasons.
func TestIDsOverEachProtocol(t *testing.T) {
	h, _ := open(t)
	k := key(t, h)
	plain := &http.Client{Transport: &http.Transport{}}
	unencrypted := new(http.Protocols)
	unencrypted.SetUnencryptedHTTP2(true)
	h2c := &http.Client{Transport: &http.Transport{Protocols: unencrypted}}
	t.Cleanup(plain.CloseIdleConnections)
	t.Cleanup(h2c.CloseIdleConnections)
	last := uint64(0)
	took := func(how string, numbers []uint64, err error) {
		t.Helper()
		if err != nil || len(numbers) != 3 || !slices.IsSorted(numbers) || numbers[0] <= last {
			t.Fatalf("%s after %d: %v, %v", how, last, numbers, err)
		}
		last = numbers[2]
	}
	good, bad := &idv1.NextRequest{Tag: "segment", Count: 3}, &idv1.NextRequest{Tag: "segment", Count: -1}
	for how, client := range map[string]idv1connect.IDServiceClient{
		"Connect":                    idv1connect.NewIDServiceClient(plain, url(h), withKey(k)),
		"Connect with JSON":          idv1connect.NewIDServiceClient(plain, url(h), withKey(k), connect.WithProtoJSON()),
		"Connect over HTTP/2":        idv1connect.NewIDServiceClient(h2c, url(h), withKey(k)),
		"gRPC":                       idv1connect.NewIDServiceClient(h2c, url(h), withKey(k), connect.WithGRPC()),
		"gRPC-Web":                   idv1connect.NewIDServiceClient(plain, url(h), withKey(k), connect.WithGRPCWeb()),
		"gRPC-Web with gzip":         idv1connect.NewIDServiceClient(plain, url(h), withKey(k), connect.WithGRPCWeb(), connect.WithSendGzip()),
		"gRPC-Web with HTTP/2, gzip": idv1connect.NewIDServiceClient(h2c, url(h), withKey(k), connect.WithGRPCWeb(), connect.WithSendGzip()),
	} {
		r, err := client.Next(t.Context(), connect.NewRequest(good))
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		took(how, r.Msg.Numbers, nil)
		if _, err := client.Next(t.Context(), connect.NewRequest(bad)); connect.CodeOf(err) != connect.CodeInvalidArgument || rialto.Reason(err) != "bad_batch" {
			t.Errorf("%s refuses with %v", how, err)
		}
	}

	// A gRPC client that is not Connect's.
	conn, err := grpc.NewClient(h.Address().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+k)
	out := &idv1.NextResponse{}
	err = conn.Invoke(ctx, idv1connect.IDServiceNextProcedure, good, out)
	took("grpc-go", out.Numbers, err)
	err = conn.Invoke(ctx, idv1connect.IDServiceNextProcedure, bad, out)
	details := status.Convert(err).Details()
	if status.Code(err) != codes.InvalidArgument || len(details) != 1 || details[0].(*gatewayv1.Error).Reason != "bad_batch" {
		t.Errorf("grpc-go is refused with %v, %v, want InvalidArgument with the reason bad_batch", err, details)
	}
	if err := conn.Invoke(t.Context(), idv1connect.IDServiceNextProcedure, good, out); status.Code(err) != codes.Unauthenticated {
		t.Errorf("grpc-go without a key: %v", err)
	}

	// curl: numbers are texts.
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url(h)+idv1connect.IDServiceNextProcedure, bytes.NewReader([]byte(`{"tag":"segment","count":3}`)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+k)
	r, err := plain.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var numbers []uint64
	var texts struct{ Numbers []string }
	if err := json.NewDecoder(r.Body).Decode(&texts); err != nil || len(texts.Numbers) != 3 {
		t.Fatalf("the answer has %v, %v, want 3 numbers", texts, err)
	}
	for _, s := range texts.Numbers {
		var n uint64
		if err := json.Unmarshal([]byte(s), &n); err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	took("JSON", numbers, nil)
}

// TestMultiPrimaryIDs: multi-primary ids come from the configured databases, also while one is unavailable, after a restart, and after databases
// were added.
func TestMultiPrimaryIDs(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db"), filepath.Join(dir, "c.db")
	seen := idcheck.Set[uint64]{}
	take := func(primaries ...string) {
		t.Helper()
		h, err := Open(t.Context(), configure(t, filepath.Join(dir, "data"), "ids.primaries="+strings.Join(primaries, ",")), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		r, err := h.ids.Next(t.Context(), &idv1.NextRequest{Tag: "multiprimary", Count: 100})
		if err == nil {
			err = seen.Add(r.Numbers...)
		}
		if err = errors.Join(err, h.Close()); err != nil {
			t.Fatal(err)
		}
	}
	take(a, b)
	take(b, a)
	// A place in which there can be no database.
	take(filepath.Join(dir, "gone", "a.db"), b)
	take(a, filepath.Join(dir, "gone", "b.db"))
	var out, errOut strings.Builder
	if code := IDMain(t.Context(), []string{"grow", a, b, c}, &out, &errOut); code != 0 || out.String() != "multi-primary ids now use 3 databases\n" {
		t.Fatalf("grow: got exit code %d, %s, %s, want 0 and 3 databases", code, &out, &errOut)
	}
	take(a, b)
	take(c, b, a)
	take(c, filepath.Join(dir, "gone", "b.db"), filepath.Join(dir, "gone", "a.db"))
}

// TestMismatchedPrimariesAreRefused: a node without the configured databases is refused, and so are databases that do not know the ids issued by
// the main database. Otherwise ids would repeat.
func TestMismatchedPrimariesAreRefused(t *testing.T) {
	dir := t.TempDir()
	data, a, b := filepath.Join(dir, "data"), filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	seen := idcheck.Set[uint64]{}
	take := func(data string, settings ...string) error {
		t.Helper()
		h, err := Open(t.Context(), configure(t, data, settings...), slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		r, err := h.ids.Next(t.Context(), &idv1.NextRequest{Tag: "multiprimary", Count: 100})
		if err == nil {
			err = seen.Add(r.Numbers...)
		}
		return errors.Join(err, h.Close())
	}
	// A start before there was the setting does no harm.
	h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
	if err == nil {
		err = h.Close()
	}
	if err = errors.Join(err, take(data, "ids.primaries="+a+","+b), take(data, "ids.primaries="+b+","+a)); err != nil {
		t.Fatal(err)
	}
	if err := take(data); errs.Of(err).Reason != "primaries_elsewhere" {
		t.Errorf("without the setting: %v", err)
	}
	var out, errOut strings.Builder
	if code := IDMain(t.Context(), []string{"next", "--data", data, "--scheme", "multiprimary"}, &out, &errOut); code != 1 || !strings.Contains(errOut.String(), "ids.primaries") {
		t.Errorf("rialto id next: %d, %s, %s", code, &out, &errOut)
	}
	other, records := filepath.Join(dir, "other"), filepath.Join(dir, "other", recordsFile)
	c, d := filepath.Join(dir, "c.db"), filepath.Join(dir, "d.db")
	seen = idcheck.Set[uint64]{}
	if err := take(other); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, where := range []string{c + "," + d, c} {
			if err := take(other, "ids.primaries="+where); errs.Of(err).Reason != "bad_config" {
				t.Errorf("%s: error %v, want the reason bad_config", where, err)
			}
		}
	}
	e := filepath.Join(dir, "e.db")
	if code := IDMain(t.Context(), []string{"grow", records, e}, &out, &errOut); code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, errOut.String())
	}
	if err := take(other, "ids.primaries="+records+","+e); err != nil {
		t.Error(err)
	}
}

// TestIDCommandBesideAServerOnPostgres: rialto id issues ids of PostgreSQL beside a server that does so too, without duplicates.
func TestIDCommandBesideAServerOnPostgres(t *testing.T) {
	address := sqltest.Schema(t, sqltest.Postgres(t))
	h, _ := open(t, "postgres="+address)
	for _, scheme := range []string{"snowflake", "sonyflake", "segment", "multiprimary", "readable", "rule"} {
		seen := idcheck.Set[string]{}
		for range 2 {
			r, err := h.ids.Next(t.Context(), &idv1.NextRequest{Tag: scheme, Count: 100, Key: 7, Type: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range r.Numbers {
				r.Texts = append(r.Texts, strconv.FormatUint(n, 10))
			}
			var out, errOut strings.Builder
			if code := IDMain(t.Context(), []string{"next", "--postgres", address, "--scheme", scheme, "--count", "100", "--for", "7"}, &out, &errOut); code != 0 {
				t.Fatalf("%s: exit code %d, want 0: %s", scheme, code, &errOut)
			}
			if err := errors.Join(seen.Add(r.Texts...), seen.Add(strings.Fields(out.String())...)); err != nil || len(seen)%200 != 0 {
				t.Errorf("the scheme %s has %d different ids, %v, want each once", scheme, len(seen), err)
			}
		}
	}
}

// TestIDCommandRefusesALockedDirectory: rialto id refuses a locked directory and says how to get ids from the server. Afterwards it continues above
// the server's ids.
func TestIDCommandRefusesALockedDirectory(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	h, err := Open(t.Context(), configure(t, data), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	next := func(ctx context.Context) (string, string, int) {
		var out, errOut strings.Builder
		code := IDMain(ctx, []string{"next", "--scheme", "sequence", "--for", "5", "--data", data}, &out, &errOut)
		return strings.TrimSpace(out.String()), errOut.String(), code
	}
	r, err := h.ids.Next(t.Context(), &idv1.NextRequest{Tag: "sequence", Key: 5, Count: 77})
	if err != nil {
		t.Fatal(err)
	}
	if _, errOut, code := next(t.Context()); code != 1 || !strings.Contains(errOut, "--url") || !strings.Contains(errOut, data) {
		t.Errorf("next on a directory in use: got exit code %d, %s, want 1, and the flag --url", code, errOut)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	out, errOut, code := next(t.Context())
	if n, err := strconv.ParseUint(out, 10, 64); code != 0 || err != nil || n <= r.Numbers[76] {
		t.Errorf("%d after %d: %d, %s", n, r.Numbers[76], code, errOut)
	}
}
