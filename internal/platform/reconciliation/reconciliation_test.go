package reconciliation_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// numbers is a comparison of 1 to 10, or to another count, some of which are wrong.
type numbers struct {
	mu    sync.Mutex // guards the fields below
	wrong map[int]bool
	// corrects: what is found is corrected at once. late: it agrees by then.
	corrects, late bool
	noRepair       bool
	slow           bool // the time of a step is over behind its first number
	calls          []string
	count          int
	fails          error
}

func (n *numbers) Name() string { return "numbers" }

func (n *numbers) Compare(ctx context.Context, after string, limit int) (step reconciliation.Step, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, fmt.Sprint(after, "+", limit))
	if n.fails != nil {
		return step, n.fails
	}
	at, _ := strconv.Atoi(after) // "" is 0
	for i := at + 1; i <= min(at+limit, n.count); i++ {
		step.Items++
		if n.wrong[i] {
			d := reconciliation.Difference{Subject: fmt.Sprint("number ", i), Reason: reconciliation.CountWrong, Values: reconciliation.Values{"counted": "7", "members": fmt.Sprint(i)}}
			if n.corrects {
				d.Correct = n.correct(i)
			}
			step.Differences = append(step.Differences, d)
		}
		step.Next = strconv.Itoa(i)
		if n.slow {
			<-ctx.Done()
			return step, nil
		}
	}
	if at+limit >= n.count {
		step.Next = ""
	}
	return step, nil
}

// correct corrects a number.
func (n *numbers) correct(i int) func(context.Context, *sql.Tx) (bool, error) {
	return func(context.Context, *sql.Tx) (bool, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.wrong, i)
		return !n.late, nil
	}
}

func (n *numbers) Repair(_ context.Context, subject string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.noRepair {
		return reconciliation.ErrNoRepair
	}
	i, err := strconv.Atoi(subject[len("number "):])
	delete(n.wrong, i)
	return err
}

func (n *numbers) set(wrong ...int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wrong = map[int]bool{}
	for _, i := range wrong {
		n.wrong[i] = true
	}
}

type fixture struct {
	*reconciliation.Service
	t       *testing.T
	numbers *numbers
	clock   *clocktest.Manual
	audit   *auditlog.Log
	jobs    *job.Service
	log     logged
}

// logged is what a service has logged, also on other goroutines.
type logged struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T) *fixture {
	t.Helper()
	n := &numbers{count: 10}
	f := openWith(t, n)
	f.numbers = n
	return f
}

// openWith opens a service with one comparison.
func openWith(t *testing.T, c reconciliation.Comparison) *fixture {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	f := &fixture{t: t, clock: clocktest.NewManual()}
	logger := slog.New(slog.DiscardHandler)
	f.jobs, err = job.New(t.Context(), job.Deps{DB: db, Clock: f.clock, Logger: logger, Node: "a"}, job.Config{})
	must(t, err)
	f.audit, err = auditlog.New(t.Context(), db, f.clock)
	must(t, err)
	f.Service, err = reconciliation.New(t.Context(), reconciliation.Deps{DB: db, Jobs: f.jobs, Audit: f.audit, Comparisons: []reconciliation.Comparison{c}, Clock: f.clock, Logger: slog.New(slog.NewTextHandler(&f.log, nil))}, reconciliation.Config{PerMinute: 4})
	must(t, err)
	workers := job.NewWorkers(map[string]int{job.DefaultQueue: 1})
	f.AddWorkers(workers)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.jobs.Run(ctx, workers) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, db.Close()); err != nil {
			t.Error(err)
		}
	})
	return f
}

// step does the work of a minute.
func (f *fixture) step() {
	f.t.Helper()
	f.clock.Advance(time.Minute)
	must(f.t, f.Step(f.t.Context()))
}

// round does a whole round, of three minutes.
func (f *fixture) round() {
	f.t.Helper()
	for range 3 {
		f.step()
	}
}

func (f *fixture) subjects() (list []string) {
	f.t.Helper()
	found, err := f.List(f.t.Context(), "numbers", "", 100)
	must(f.t, err)
	for _, d := range found {
		list = append(list, d.Subject)
	}
	return list
}

// A round compares all items, a bounded number each minute, and continues where it was. Each difference is found within one round, stays while it lasts, and goes
// when a round finds that the stores agree.
func TestADifferenceIsFoundWithinARound(t *testing.T) {
	f := open(t)
	f.numbers.set(2, 9)
	f.step()
	if got := f.subjects(); !slices.Equal(got, []string{"number 2"}) {
		t.Fatalf("after a minute there are %q", got)
	}
	f.step()
	f.step()
	if got := f.subjects(); !slices.Equal(got, []string{"number 2", "number 9"}) {
		t.Fatalf("after a round there are %q", got)
	}
	if want := []string{"+4", "4+4", "8+4"}; !slices.Equal(f.numbers.calls, want) {
		t.Errorf("it compared %q, want %q", f.numbers.calls, want)
	}
	list, err := f.Statuses(t.Context())
	if err != nil || len(list) != 1 || list[0].Number != 2 || list[0].Compared != 10 || list[0].Differences != 2 || list[0].EndedMs != f.clock.Now().UnixMilli() || list[0].Position != "" {
		t.Errorf("the comparison is at %+v (%v)", list, err)
	}
	f.numbers.set(9)
	f.step()
	f.step()
	if got := f.subjects(); len(got) != 2 {
		t.Errorf("before the round has ended there are %q", got)
	}
	f.step()
	if got := f.subjects(); !slices.Equal(got, []string{"number 9"}) {
		t.Errorf("after the second round there are %q", got)
	}
	if two, nine := f.log.count(`subject="number 2"`), f.log.count(`subject="number 9"`); two != 1 || nine != 1 {
		t.Errorf("the differences were logged %d and %d times, want once each", two, nine)
	}
	families, err := registryOf(f.Service).Gather()
	if err != nil || len(families) != 4 || families[2].GetName() != "rialto_reconciliation_differences" || families[2].GetMetric()[0].GetGauge().GetValue() != 1 {
		t.Errorf("the metrics are %v (%v)", families, err)
	}
	if families[0].GetName() != "rialto_reconciliation_compared" || families[0].GetMetric()[0].GetGauge().GetValue() != 10 {
		t.Errorf("the metrics are %v", families)
	}
}

// A database that does not answer holds up one scrape of the metrics in 15 s, and not each.
func TestScrapesDoNotWaitForTheDatabaseAgain(t *testing.T) {
	f := open(t)
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	s, err := reconciliation.New(t.Context(), reconciliation.Deps{DB: db, Jobs: f.jobs, Audit: f.audit, Comparisons: []reconciliation.Comparison{f.numbers}, Clock: f.clock, Logger: slog.New(slog.NewTextHandler(&f.log, nil))}, reconciliation.Config{})
	must(t, err)
	must(t, db.Close())
	for range 3 {
		if families, err := registryOf(s).Gather(); err != nil || len(families) != 0 {
			t.Errorf("without a database the metrics are %v (%v)", families, err)
		}
	}
	if n := f.log.count("could not be counted"); n != 1 {
		t.Errorf("the database was read %d times for three scrapes, want once", n)
	}
}

// A difference is repaired when an operator asks for it, with an entry in the audit log. The next round finds that the stores agree.
func TestADifferenceIsRepairedOnDemand(t *testing.T) {
	f := open(t)
	f.numbers.set(3, 5)
	f.round()
	f.round()
	if got := f.subjects(); len(got) != 2 {
		t.Fatalf("nothing was to be repaired, and there are %q", got)
	}
	d, err := f.Repair(t.Context(), "olga", "numbers", "number 3", "it was planted")
	if err != nil || !d.Repairing || d.What() != "7 were counted, and the set has 3" {
		t.Fatalf("the difference is %+v (%v)", d, err)
	}
	eventually.True(t, "it is repaired", func() bool { return slices.Equal(f.subjects(), []string{"number 5"}) })
	f.round()
	if got := f.subjects(); !slices.Equal(got, []string{"number 5"}) {
		t.Errorf("after a round there are %q", got)
	}
	list, err := f.audit.List(t.Context(), 1<<40, 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("the audit log has %v (%v)", list, err)
	}
	if e := list[0]; e.Who != "olga" || e.Action != "difference.repair" || e.Subject != "numbers number 3" || e.Before != "7 were counted, and the set has 3" || e.Reason != "it was planted" {
		t.Errorf("the entry is %+v", e)
	}
	for _, subject := range []string{"number 3", "number 4"} {
		if _, err := f.Repair(t.Context(), "olga", "numbers", subject, ""); !errs.Is(err, errs.NotFound) {
			t.Errorf("the repair of %s: %v", subject, err)
		}
	}
}

// What is corrected when it is found stays in the list, and in a metric of its own, until an operator has seen it. What agreed before it could be corrected was no difference.
func TestACorrectedDifferenceIsVisible(t *testing.T) {
	f := open(t)
	f.numbers.corrects = true
	f.numbers.set(2, 9)
	f.round()
	f.round() // finds that they agree
	if got := f.subjects(); !slices.Equal(got, []string{"number 2", "number 9"}) || len(f.numbers.wrong) != 0 {
		t.Fatalf("after a round there are %q, and %v are wrong", got, f.numbers.wrong)
	}
	list, err := f.Statuses(t.Context())
	if err != nil || list[0].Differences != 0 || list[0].Corrected != 2 {
		t.Errorf("the comparison is at %+v (%v)", list, err)
	}
	families, err := registryOf(f.Service).Gather()
	if err != nil || families[1].GetName() != "rialto_reconciliation_corrected" || families[1].GetMetric()[0].GetGauge().GetValue() != 2 || families[2].GetMetric()[0].GetGauge().GetValue() != 0 {
		t.Errorf("the metrics are %v (%v)", families, err)
	}
	d, err := f.Repair(t.Context(), "olga", "numbers", "number 2", "it was seen")
	if err != nil || !d.Corrected {
		t.Fatalf("the difference is %+v (%v)", d, err)
	}
	eventually.True(t, "it is gone", func() bool { return slices.Equal(f.subjects(), []string{"number 9"}) })
	f.numbers.corrects = false
	f.numbers.set(9)
	f.round()
	if found, err := f.List(t.Context(), "numbers", "", 10); err != nil || len(found) != 1 || found[0].Corrected {
		t.Errorf("a number that is wrong again: %+v (%v)", found, err)
	}
	var refused *errs.Error
	if found, err := f.List(t.Context(), "number", "", 10); !errors.As(err, &refused) || refused.Reason != "no_comparison" {
		t.Errorf("a comparison that does not exist has the differences %+v (%v)", found, err)
	}
	f.numbers.corrects, f.numbers.late = true, true
	f.numbers.set(4)
	f.round()
	if got := f.subjects(); len(got) != 0 {
		t.Errorf("of numbers that agree by now, there are %q", got)
	}
}

// More differences are found than are kept. Those that are kept stay while they last, and all are corrected that can be.
func TestKeptDifferencesAreBounded(t *testing.T) {
	f := open(t)
	f.numbers.count = 1100
	wrong := make([]int, f.numbers.count)
	for i := range wrong {
		wrong[i] = i + 1
	}
	f.numbers.set(wrong...)
	rounds := func() {
		t.Helper()
		for range 275 + 1 { // of four
			f.step()
		}
	}
	rounds()
	rounds()
	list, err := f.Statuses(t.Context())
	if err != nil || list[0].Differences != 1000 {
		t.Errorf("comparisons %+v, want 1000 differences of the first; error %v", list, err)
	}
	if each, omitted := f.log.count("two stores differ"), f.log.count("than are kept\" comparison=numbers kept=1000 omitted=4"); each != 1000 || omitted != 2*25 {
		t.Errorf("two rounds log %d differences, want 1000, and %d times that four were omitted, want 50", each, omitted)
	}
	f.numbers.corrects = true
	rounds()
	list, err = f.Statuses(t.Context())
	if err != nil || list[0].Corrected != 1000 || list[0].Differences != 0 || len(f.numbers.wrong) != 0 {
		t.Errorf("%+v (%v), and %d are wrong", list, err, len(f.numbers.wrong))
	}
	if n := f.log.count("corrected=true"); n != 1100 {
		t.Errorf("%d corrected differences are logged, want 1100", n)
	}
}

// What cannot be repaired stays in the list, says so, and may be repaired again later.
func TestADifferenceThatCannotBeRepairedStays(t *testing.T) {
	f := open(t)
	f.numbers.noRepair = true
	f.numbers.set(2)
	f.round()
	d, err := f.Repair(t.Context(), "olga", "numbers", "number 2", "")
	if err != nil || !d.Repairing {
		t.Fatalf("the difference is %+v (%v)", d, err)
	}
	eventually.True(t, "the repair has ended", func() bool {
		found, err := f.List(t.Context(), "numbers", "", 10)
		must(t, err)
		return len(found) == 1 && !found[0].Repairing && found[0].Unrepairable && strings.HasSuffix(found[0].What(), "from a backup")
	})
	f.round() // finds it again, as it is
	if found, err := f.List(t.Context(), "numbers", "", 10); err != nil || len(found) != 1 || found[0].What() != "7 were counted, and the set has 2" {
		t.Errorf("after a round there is %+v (%v)", found, err)
	}
}

// A comparison that cannot compare keeps its position and its differences.
func TestAFailedStepKeepsItsPosition(t *testing.T) {
	f := open(t)
	f.numbers.set(1)
	f.step()
	for _, fails := range []error{reconciliation.ErrNotReady, errors.New("the store does not answer")} {
		f.numbers.fails = fails
		if err := f.Step(t.Context()); (err == nil) != errors.Is(fails, reconciliation.ErrNotReady) {
			t.Errorf("after %v: %v", fails, err)
		}
	}
	f.numbers.fails = nil
	f.step()
	if want := []string{"+4", "4+4", "4+4", "4+4"}; !slices.Equal(f.numbers.calls, want) || len(f.subjects()) != 1 {
		t.Errorf("it compared %q, want %q; there are %q", f.numbers.calls, want, f.subjects())
	}
}

// What a comparison found before the time of its step was over is stored, and the next step continues behind it.
func TestAStepThatUsesItsTimeIsStored(t *testing.T) {
	f := open(t)
	f.SetStepTime(time.Millisecond)
	f.numbers.slow = true
	f.numbers.set(1, 3)
	for range 3 {
		f.step()
	}
	if want := []string{"+4", "1+4", "2+4"}; !slices.Equal(f.numbers.calls, want) || !slices.Equal(f.subjects(), []string{"number 1", "number 3"}) {
		t.Errorf("it compared %q, want %q; there are %q", f.numbers.calls, want, f.subjects())
	}
}

// patient are numbers whose steps may take an hour.
type patient struct {
	*numbers
	left time.Duration
}

func (p *patient) StepTime() time.Duration { return time.Hour }

func (p *patient) Compare(ctx context.Context, after string, limit int) (reconciliation.Step, error) {
	ends, _ := ctx.Deadline()
	p.left = time.Until(ends)
	return p.numbers.Compare(ctx, after, limit)
}

// A comparison whose items may need longer has that time.
func TestASlowComparisonHasMoreTime(t *testing.T) {
	p := &patient{numbers: &numbers{count: 1}}
	f := openWith(t, p)
	f.step()
	if p.left < 30*time.Minute {
		t.Errorf("the step had %v", p.left)
	}
}

// A text names all values of its reason, and the other files of a subject.
func TestDifferencesAreDescribed(t *testing.T) {
	d := reconciliation.FileDiffers("video 7", reconciliation.FileSize, "video/07/7/a-0-1", reconciliation.Sizes(3, 5))
	if want := "its file video/07/7/a-0-1 has 3 bytes, and not 5"; d.What() != want {
		t.Errorf("%q, want %q", d.What(), want)
	}
	d.Values[reconciliation.OtherFiles] = "2"
	if want := "its file video/07/7/a-0-1 has 3 bytes, and not 5; at least 2 other files differ too"; d.What() != want {
		t.Errorf("%q, want %q", d.What(), want)
	}
}

// Two nodes that step at once do not skip items, and store their differences once.
func TestTwoCoordinatorsAtOnce(t *testing.T) {
	f := open(t)
	f.numbers.set(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	var group sync.WaitGroup
	for range 12 {
		group.Go(func() {
			if err := f.Step(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	f.round()
	if got := f.subjects(); len(got) != 10 {
		t.Errorf("there are %q", got)
	}
}

func registryOf(s *reconciliation.Service) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(s)
	return r
}
