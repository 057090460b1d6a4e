package privacy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// part is a participant with some things of a user. Each step erases one.
type part struct {
	name  string
	left  []int
	early bool     // it was asked before the erasure began
	fails []error  // of the next steps
	asked int      // how many steps
	began *bool    // of the accounts
	text  []string // what an export has
}

func (p *part) Name() string         { return p.name }
func (p *part) UserTables() []string { return nil }

func (p *part) EraseUser(_ context.Context, _ id.User, from string) (userdata.Step, error) {
	p.early = p.early || !*p.began
	p.asked++
	if len(p.fails) > 0 {
		err := p.fails[0]
		p.fails = p.fails[1:]
		return userdata.Step{}, err
	}
	at := 0
	if from != "" {
		if _, err := fmt.Sscan(from, &at); err != nil {
			return userdata.Step{}, err
		}
	}
	erased := 0
	if i := slices.Index(p.left, at); i >= 0 {
		p.left, erased = slices.Delete(p.left, i, i+1), 1
	}
	return userdata.Step{Next: fmt.Sprint(at + 1), Erased: int64(erased), Done: at >= 2}, nil
}

func (p *part) ExportUser(_ context.Context, _ id.User, to userdata.Writer) error {
	for _, text := range p.text {
		if err := to.Record(p.name, text); err != nil {
			return err
		}
	}
	return nil
}

// privacyTest is a service above two participants, and accounts that note what is asked of them.
type privacyTest struct {
	t *testing.T
	*Service
	clock     *clocktest.Manual
	parts     []*part
	began     bool
	ended     int
	unproven  bool // the caller's identity is not confirmed
	nextID    uint64
	files     map[id.Upload][]byte
	fileStore blob.Store
}

func (p *privacyTest) Next(context.Context) (uint64, error) { p.nextID++; return p.nextID, nil }

func (p *privacyTest) ConfirmErasure(context.Context, *sql.Tx, id.Caller) error {
	if p.unproven {
		return errs.New(errs.Denied, "confirm_identity", "")
	}
	return nil
}
func (p *privacyTest) BeginErasure(context.Context, id.User) error { p.began = true; return nil }
func (p *privacyTest) EndErasure(context.Context, id.User) error   { p.ended++; return nil }
func (p *privacyTest) FindUser(_ context.Context, u id.User, _ string) (id.User, error) {
	return u, nil
}

func (p *privacyTest) StoreExport(_ context.Context, _ id.User, _ string, r io.Reader, size int64) (id.Upload, error) {
	b, err := io.ReadAll(r)
	if err == nil && int64(len(b)) != size {
		err = fmt.Errorf("%d bytes of %d", len(b), size)
	}
	p.nextID++
	p.files[id.Upload(p.nextID)] = b
	return id.Upload(p.nextID), err
}
func (p *privacyTest) DropExport(_ context.Context, n id.Upload) error {
	delete(p.files, n)
	return nil
}
func (p *privacyTest) ExportURL(n id.Upload) (string, time.Time) {
	return "/" + n.String(), p.clock.Now().Add(time.Hour)
}

const ann id.User = 5

var session = id.Caller{User: ann, Session: 9}

func openPrivacy(t *testing.T) *privacyTest {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	p := &privacyTest{t: t, clock: clocktest.NewManual(), files: map[id.Upload][]byte{}, nextID: 100}
	logger := slog.New(slog.DiscardHandler)
	jobs, err := job.New(t.Context(), job.Deps{DB: db, Clock: p.clock, Logger: logger, Node: "n"}, job.Config{})
	must(t, err)
	audit, err := auditlog.New(t.Context(), db, p.clock)
	must(t, err)
	p.fileStore, err = diskblob.Open(t.TempDir())
	must(t, err)
	for _, name := range []string{"one", "two"} {
		p.parts = append(p.parts, &part{name: name, left: []int{0, 1, 2}, began: &p.began, text: []string{name + " a", name + " b"}})
	}
	p.Service, err = New(t.Context(), Deps{DB: db, Jobs: jobs, Accounts: p, Files: p, Store: p.fileStore, IDs: p, Participants: []userdata.Participant{p.parts[0], p.parts[1]}, Audit: audit,
		TempDir: t.TempDir(), Clock: p.clock, Logger: logger}, Config{})
	must(t, err)
	return p
}

// attempt runs the job of the present erasure.
func (p *privacyTest) attempt() error {
	p.t.Helper()
	e, err := row(p.t.Context(), p.deps.DB.Read(), ann)
	if errors.Is(err, sql.ErrNoRows) {
		return p.erase(p.t.Context(), job.Job[eraseArgs]{Args: eraseArgs{uint64(ann), 1}})
	}
	must(p.t, err)
	return p.erase(p.t.Context(), job.Job[eraseArgs]{Args: eraseArgs{uint64(ann), e.requestedMs}})
}

// An erasure that is interrupted after any step goes on there, and ends with nothing left.
func TestAnInterruptedErasureGoesOn(t *testing.T) {
	for after := 1; after < 20; after++ {
		p := openPrivacy(t)
		_, err := p.EraseUser(t.Context(), id.Caller{Server: true, Key: "shop"}, &accountv1.EraseUserRequest{User: uint64(ann)})
		must(t, err)
		died := errors.New("the process died")
		reached := 0
		p.interrupt = func(string) error {
			if reached++; reached == after {
				return died
			}
			return nil
		}
		first := p.attempt()
		if first == nil { // there are no more points
			if after < 8 {
				t.Errorf("an erasure has only %d points", after-1)
			}
			return
		}
		if !errors.Is(first, died) {
			t.Fatalf("after %d points: %v", after, first)
		}
		must(t, p.attempt())
		report, err := p.GetUserErasure(t.Context(), &accountv1.GetUserErasureRequest{User: uint64(ann)})
		must(t, err)
		for _, part := range p.parts {
			if len(part.left) != 0 || part.early {
				t.Errorf("interrupted at point %d, %s has %v left, asked too early: %v", after, part.name, part.left, part.early)
			}
		}
		if report.DoneMs == 0 || report.StartedMs == 0 || p.ended == 0 {
			t.Errorf("interrupted at point %d, the report is %v", after, report)
		}
		must(t, p.attempt()) // nothing more
	}
	t.Error("an erasure has too many points")
}

// A participant that fails is asked again; what was erased before is not asked for again.
func TestAFailedStepIsRepeated(t *testing.T) {
	p := openPrivacy(t)
	_, err := p.EraseUser(t.Context(), id.Caller{Server: true, Key: "shop"}, &accountv1.EraseUserRequest{User: uint64(ann)})
	must(t, err)
	p.parts[1].fails = []error{errors.New("the store does not answer")}
	if err := p.attempt(); err == nil {
		t.Fatal("the attempt succeeds although a step failed")
	}
	must(t, p.attempt())
	report, err := p.GetUserErasure(t.Context(), &accountv1.GetUserErasureRequest{User: uint64(ann)})
	must(t, err)
	if p.parts[0].asked != 3 || p.parts[1].asked != 4 {
		t.Errorf("the participants were asked for %d and %d steps", p.parts[0].asked, p.parts[1].asked)
	}
	if len(report.Parts) != 2 || report.Parts[0].Erased != 3 || report.Parts[1].Erased != 3 || report.DoneMs == 0 {
		t.Errorf("the report is %v", report)
	}
}

// A user's request needs a confirmed identity, waits for the grace period, and can be taken back until it begins.
func TestARequestCanBeCancelled(t *testing.T) {
	p := openPrivacy(t)
	ctx := t.Context()
	p.unproven = true
	if _, err := p.RequestErasure(ctx, session); errs.Of(err).Reason != "confirm_identity" {
		t.Errorf("without a confirmation: %v", err)
	}
	if _, err := p.RequestErasure(ctx, id.Caller{User: ann, Server: true, Key: "shop"}); errs.Of(err).Reason != "not_allowed" {
		t.Errorf("by a server: %v", err)
	}
	p.unproven = false
	e, err := p.RequestErasure(ctx, session)
	must(t, err)
	if e.DueMs-e.RequestedMs != defaultGrace.Milliseconds() || e.StartedMs != 0 || p.began {
		t.Errorf("the request is %v", e)
	}
	p.clock.Advance(time.Hour)
	again, err := p.RequestErasure(ctx, session)
	must(t, err)
	if again.DueMs != e.DueMs {
		t.Errorf("a repetition moves it from %d to %d", e.DueMs, again.DueMs)
	}
	_, err = p.CancelErasure(ctx, session)
	must(t, err)
	if _, err := p.CancelErasure(ctx, session); errs.Of(err).Reason != "no_erasure" {
		t.Errorf("cancelled twice: %v", err)
	}
	must(t, p.erase(ctx, job.Job[eraseArgs]{Args: eraseArgs{uint64(ann), e.RequestedMs}}))
	if p.began || len(p.parts[0].left) != 3 {
		t.Error("a cancelled erasure was made")
	}
	if e, err = p.GetErasure(ctx, session); err != nil || e.RequestedMs != 0 {
		t.Errorf("after the cancellation it is %v, %v", e, err)
	}

	e, err = p.RequestErasure(ctx, session)
	must(t, err)
	now, err := p.EraseUser(ctx, id.Caller{Server: true, Key: "shop"}, &accountv1.EraseUserRequest{User: uint64(ann)})
	must(t, err)
	if now.DueMs >= e.DueMs || now.StartedMs == 0 || !p.began {
		t.Errorf("a server brings it forward: %v", now)
	}
	if _, err := p.CancelErasure(ctx, session); errs.Of(err).Reason != "no_erasure" {
		t.Errorf("it has begun, and its cancellation is answered with %v", err)
	}
}

// An export has what the participants wrote, for its user, until it is too old. One is made a day.
func TestExports(t *testing.T) {
	p := openPrivacy(t)
	ctx := t.Context()
	e, err := p.RequestExport(ctx, session)
	must(t, err)
	if again, err := p.RequestExport(ctx, session); err != nil || again.Id != e.Id || again.DoneMs != 0 || again.Url != "" {
		t.Errorf("a repetition is %v, %v", again, err)
	}
	must(t, p.export(ctx, job.Job[exportArgs]{Args: exportArgs{e.Id}}))
	must(t, p.export(ctx, job.Job[exportArgs]{Args: exportArgs{e.Id}})) // a repetition makes no other
	done, err := p.GetExport(ctx, session)
	must(t, err)
	if len(p.files) != 1 || done.Url == "" || done.DoneMs == 0 {
		t.Fatalf("%d files are stored, and the export is %v", len(p.files), done)
	}
	for _, b := range p.files {
		m, entries := readArchive(t, b)
		if m.User != "5" || len(entries) != 2 || entries["two.jsonl"] != "\"two a\"\n\"two b\"\n" || done.Size != uint64(len(b)) {
			t.Errorf("the archive of %d bytes has %+v and %q", len(b), m, entries)
		}
	}
	if other, err := p.GetExport(ctx, id.Caller{User: ann + 1}); err != nil || other.Id != 0 || other.Url != "" {
		t.Errorf("another user gets %v, %v", other, err)
	}
	p.clock.Advance(exportEvery + time.Minute)
	next, err := p.RequestExport(ctx, session)
	must(t, err)
	if next.Id == e.Id {
		t.Error("no other export can be made the next day")
	}
	must(t, p.export(ctx, job.Job[exportArgs]{Args: exportArgs{next.Id}}))
	if newest, err := p.GetExport(ctx, session); err != nil || newest.Id != next.Id || newest.Url == "" || len(p.files) != 1 {
		t.Errorf("the next export replaces the one before: %d files are stored, and the newest is %v, %v", len(p.files), newest, err)
	}
	p.clock.Advance(defaultKeep + time.Minute)
	must(t, p.dropOld(ctx))
	if late, err := p.GetExport(ctx, session); err != nil || len(p.files) != 0 || late.Url != "" {
		t.Errorf("after its time, %d files are stored, and the export is %v, %v", len(p.files), late, err)
	}
}
