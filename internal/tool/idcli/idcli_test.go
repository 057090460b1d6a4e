package idcli_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/idservice"
	"github.com/rialto-im/rialto/internal/tool/idcli"
	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/id/v1/idv1connect"
)

// shell runs commands on one service, and counts how often they open it.
type shell struct {
	*testing.T
	db     *sqldb.DB
	opened int
	open   int // not closed yet
}

func newShell(t *testing.T) *shell {
	t.Helper()
	db, err := sqldb.Open(t.Context(), filepath.Join(t.TempDir(), "records.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &shell{T: t, db: db}
}

func (s *shell) service() *idservice.Service {
	s.Helper()
	logger := slog.New(slog.DiscardHandler)
	leases, err := idgen.NewLeases(s.Context(), idgen.LeaseDeps{DB: s.db, Clock: clock.System{}, Logger: logger}, idgen.LeaseConfig{Machine: "a", Exclusive: true})
	if err != nil {
		s.Fatal(err)
	}
	service, err := idservice.NewService(s.Context(), idservice.ServiceDeps{DB: s.db, Leases: leases, Clock: clock.System{}, Logger: logger}, idservice.ServiceConfig{Node: "a", Exclusive: true})
	if err != nil {
		s.Fatal(err)
	}
	return service
}

// run returns the output and the exit code of a command.
func (s *shell) run(args ...string) (out, errOut string, code int) {
	s.Helper()
	var o, e strings.Builder
	code = idcli.Main(s.Context(), args, &o, &e, func(_ context.Context, dir string) (idcli.IDs, func() error, error) {
		if dir == "gone" {
			return nil, nil, errors.New("it is in use")
		}
		s.opened++
		s.open++
		return s.service(), func() error { s.open--; return nil }, nil
	})
	if s.open != 0 {
		s.Errorf("%v did not close the directory", args)
	}
	return o.String(), e.String(), code
}

// lines returns the output of a command that must succeed.
func (s *shell) lines(args ...string) []string {
	s.Helper()
	out, errOut, code := s.run(args...)
	if code != 0 || errOut != "" {
		s.Fatalf("%v: got exit code %d, %s", args, code, errOut)
	}
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

// TestNextPrintsUniqueIDs: next prints unique ids of each scheme, one per line, over many batches. explain names the scheme.
func TestNextPrintsUniqueIDs(t *testing.T) {
	s := newShell(t)
	for _, scheme := range idservice.Schemes() {
		if scheme == idservice.SchemeRedis { // a data directory has no Redis server
			if _, errOut, code := s.run("next", "--scheme", scheme); code != 1 || !strings.Contains(errOut, "ids.redis") {
				t.Errorf("next --scheme redis without a server: got exit code %d, %s, want 1, and the setting ids.redis", code, errOut)
			}
			continue
		}
		before := s.opened
		ids := s.lines("next", "--scheme", scheme, "--count", "12345", "--for", "9", "--type", "2")
		if scheme == idservice.SchemeUUIDv7 || scheme == idservice.SchemeULID {
			if s.opened != before {
				t.Errorf("%s opened the data directory", scheme)
			}
		}
		ids = append(ids, s.lines("next", "--scheme", scheme)...)
		slices.Sort(ids)
		if len(ids) != 12346 || len(slices.Compact(ids)) != 12346 {
			t.Errorf("%s: got %d lines, want 12346 different ones", scheme, len(ids))
		}
		explained := strings.Join(s.lines("explain", ids[0], "--scheme", scheme, "--data", "here"), "\n")
		if !strings.HasPrefix(explained, scheme+"\n") {
			t.Errorf("explain %s: got %s", ids[0], explained)
		}
	}
}

// TestErrorsAndExitCodes: each error has its exit code, and a text that names the fault.
func TestErrorsAndExitCodes(t *testing.T) {
	s := newShell(t)
	file := filepath.Join(t.TempDir(), "no key")
	for _, tc := range []struct {
		args, want string
		code       int
	}{
		{"", "Usage", 2},
		{"nope", `unknown command "nope"`, 2},
		{"next", "--scheme", 2},
		{"next --scheme snowflake --tag x", "--scheme", 2},
		{"next --scheme nope", "snowflake, sonyflake", 2},
		{"next --scheme segment --count 0", "at least 1", 2},
		{"next --scheme segment --count -5", "at least 1", 2},
		{"next --scheme segment --count x", "--help", 2},
		{"next --scheme segment more", `"more"`, 2},
		{"next --scheme segment --url http://127.0.0.1:1", "used together", 2},
		{"next --scheme segment --url 127.0.0.1 --key k", "https://", 1},
		{"next --scheme segment --url http://127.0.0.1:1 --key @" + file, "no key", 1},
		{"next --scheme segment --url http://127.0.0.1:1 --key k", "refused", 1},
		{"next --scheme segment --data gone", "it is in use", 1},
		{"next --tag nope", `no tag "nope"`, 1},
		{"next --scheme readable --type 16", "0 to 15", 1},
		{"explain", "missing", 2},
		{"explain 1 2", `"2"`, 2},
		{"explain 12x", "character 3", 1},
		{"explain 12 --scheme nope", "snowflake", 1},
		{"tag", "Usage", 2},
		{"tag nope", `no command "nope"`, 2},
		{"tag put orders", "--scheme", 2},
		{"tag put --scheme segment", "missing", 2},
		{"tag put orders --scheme segment --step 99999999", "10,000,000", 1},
		{"tag put Orders! --scheme segment", "a-z", 1},
		{"tag put segment --scheme segment", "built in", 1},
		{"tag delete nope", `no tag "nope"`, 1},
		{"bench --duration 0s", "more than 0", 2},
		{"bench --connections 0 --url x --key y", "1 to 1,024", 2},
		{"grow", "Usage", 2},
		{"grow --nope", "--nope", 2},
		{"grow /nowhere/a /nowhere/b", "/nowhere/a", 1},
	} {
		out, errOut, code := s.run(strings.Fields(tc.args)...)
		if tc.args == "next --scheme segment --url http://127.0.0.1:1 --key @"+file { // the path contains a space
			out, errOut, code = s.run("next", "--scheme", "segment", "--url", "http://127.0.0.1:1", "--key", "@"+file)
		}
		if code != tc.code || out != "" || !strings.Contains(errOut, tc.want) {
			t.Errorf("%q: got exit code %d, %q, %q, want %d and %q", tc.args, code, out, errOut, tc.code, tc.want)
		}
	}
	for _, args := range []string{"--help", "next --help", "explain --help", "tag --help", "tag put --help", "tag list --help", "tag delete --help", "bench --help", "grow --help"} {
		if out, errOut, code := s.run(strings.Fields(args)...); code != 0 || errOut != "" || !strings.Contains(out, "Usage: ") && !strings.Contains(out, "Usage:\n") {
			t.Errorf("%s: got exit code %d, %q, %q", args, code, out, errOut)
		}
	}
}

// TestTagCommands: a tag is created, issues ids, is listed and is deleted.
func TestTagCommands(t *testing.T) {
	s := newShell(t)
	s.lines("tag", "put", "bills", "--scheme", "rule", "--prefix", "INV-", "--digits", "4", "--description", "of the shop")
	if got := s.lines("next", "--tag", "bills", "--count", "2"); !slices.Equal(got, []string{"INV-0001", "INV-0002"}) {
		t.Errorf("the ids of the rule are %v, want INV-0001 and INV-0002", got)
	}
	if got := s.lines("explain", "INV-0002", "--data", "here"); got[0] != "rule" || !slices.Contains(got, "  number         2") || !slices.Contains(got, "  tag            bills") {
		t.Errorf("explain of INV-0002 printed %v, want rule, its number and its tag", got)
	}
	if got := s.lines("tag", "list"); len(got) != 11 || !strings.HasPrefix(got[1], "bills ") || !strings.HasSuffix(got[1], "of the shop") {
		t.Errorf("tag list printed %v, want bills and ten built-in tags", got)
	}
	var list struct{ Tags []struct{ Name string } }
	if err := json.Unmarshal([]byte(s.lines("tag", "list", "--json")[0]), &list); err != nil || len(list.Tags) != 10 {
		t.Errorf("tag list --json printed %v, %v, want 10 tags", list, err)
	}
	s.lines("tag", "delete", "bills")
	if _, errOut, code := s.run("next", "--tag", "bills"); code != 1 || !strings.Contains(errOut, "no tag") {
		t.Errorf("next of a deleted tag: got exit code %d, %s, want 1 and no tag", code, errOut)
	}
}

// handler is the id API of a server.
type handler struct {
	*idservice.Service
	idv1connect.UnimplementedIDServiceHandler
}

func answer[T any](v *T, err error) (*connect.Response[T], error) {
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New(errs.Of(err).Message))
	}
	return connect.NewResponse(v), nil
}

func (d handler) Next(ctx context.Context, r *connect.Request[idv1.NextRequest]) (*connect.Response[idv1.NextResponse], error) {
	if r.Header().Get("Authorization") != "Bearer rk_good" {
		return nil, connect.NewError(connect.CodeUnauthenticated, errors.New("the key is not good"))
	}
	return answer(d.Service.Next(ctx, r.Msg))
}

func (d handler) Explain(ctx context.Context, r *connect.Request[idv1.ExplainRequest]) (*connect.Response[idv1.ExplainResponse], error) {
	return answer(d.Service.Explain(ctx, r.Msg))
}

func (d handler) PutTag(ctx context.Context, r *connect.Request[idv1.PutTagRequest]) (*connect.Response[idv1.Tag], error) {
	return answer(d.Service.PutTag(ctx, r.Msg.Tag))
}

func (d handler) ListTags(ctx context.Context, r *connect.Request[idv1.ListTagsRequest]) (*connect.Response[idv1.ListTagsResponse], error) {
	return answer(d.Service.ListTags(ctx, r.Msg))
}

func (d handler) DeleteTag(ctx context.Context, r *connect.Request[idv1.DeleteTagRequest]) (*connect.Response[idv1.DeleteTagResponse], error) {
	return answer(d.Service.DeleteTag(ctx, r.Msg.Name))
}

func (d handler) GetTag(ctx context.Context, r *connect.Request[idv1.GetTagRequest]) (*connect.Response[idv1.Tag], error) {
	return answer(d.Service.GetTag(ctx, r.Msg.Name))
}

func (d handler) Ping(context.Context, *connect.Request[idv1.PingRequest]) (*connect.Response[idv1.PingResponse], error) {
	return connect.NewResponse(&idv1.PingResponse{}), nil
}

// TestCommandsUseAServer: with --url, commands call a server and open no directory.
func TestCommandsUseAServer(t *testing.T) {
	s := newShell(t)
	mux := http.NewServeMux()
	mux.Handle(idv1connect.NewIDServiceHandler(handler{Service: s.service()}))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("rk_good\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	with := func(args ...string) []string { return append(args, "--url", server.URL+"/", "--key", "@"+key) }
	s.lines(with("tag", "put", "orders", "--scheme", "segment", "--step", "5")...)
	if ids := s.lines(with("next", "--tag", "orders", "--count", "20001")...); len(ids) != 20001 || ids[20000] < "20001" {
		t.Errorf("got %d ids, want 20001", len(ids))
	}
	if got := s.lines(with("next", "--scheme", "uuidv7")...); len(got[0]) != 36 {
		t.Errorf("next --scheme uuidv7 printed %v, want 36 characters", got)
	}
	var explained struct{ Readings []struct{ Scheme string } }
	if err := json.Unmarshal([]byte(s.lines(with("explain", "77", "--json")...)[0]), &explained); err != nil || len(explained.Readings) != 5 {
		t.Errorf("explain 77 --json printed %v, %v, want 5 readings", explained, err)
	}
	if got := s.lines(with("tag", "list")...); len(got) != 11 {
		t.Errorf("tag list of the server printed %v, want 11 lines", got)
	}
	s.lines(with("tag", "delete", "orders")...)
	if _, errOut, code := s.run(with("next", "--tag", "orders")...); code != 1 || !strings.Contains(errOut, "no tag") {
		t.Errorf("next of a deleted tag of the server: got exit code %d, %s, want 1 and no tag", code, errOut)
	}
	if _, errOut, code := s.run("next", "--scheme", "segment", "--url", server.URL, "--key", "rk_bad"); code != 1 || errOut != "rialto id next: the server does not accept this key; make one with: rialto admin key create --name NAME\n" {
		t.Errorf("a key that the server does not accept: got exit code %d, %s, want 1, and how to make a key", code, errOut)
	}
	if s.opened != 0 {
		t.Error("a command opened a directory")
	}
	out, errOut, code := s.run(with("bench", "--duration", "3ms", "--json")...)
	rows(t, out, errOut, code, "I5")
}

// rows requires that a bench succeeded, and that each named row has a value.
func rows(t *testing.T, out, errOut string, code int, names ...string) {
	t.Helper()
	var result struct {
		Rows []struct {
			Row, What, Unit string
			Value           float64
		}
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || code != 0 || !strings.Contains(errOut, "measuring") {
		t.Fatalf("exit code %d, error %v; want 0 and JSON: output %s, errors %s", code, err, out, errOut)
	}
	for _, name := range names {
		if !slices.ContainsFunc(result.Rows, func(r struct {
			Row, What, Unit string
			Value           float64
		}) bool {
			return r.Row == name && r.Value > 0
		}) {
			t.Errorf("row %s has no value: %s", name, strconv.Quote(out))
		}
	}
}

// TestBenchMeasuresEachRow runs a short bench in this process.
func TestBenchMeasuresEachRow(t *testing.T) {
	out, errOut, code := newShell(t).run("bench", "--duration", "3ms", "--keys", "200000", "--json")
	rows(t, out, errOut, code, "I1", "I2", "I3", "I4", "I6")
	if out, _, code := newShell(t).run("bench", "--duration", "1ms", "--keys", "1000"); code != 0 || !strings.Contains(out, "ns each") {
		t.Errorf("bench: got exit code %d, %s, want 0, and times of each id", code, out)
	}
}
