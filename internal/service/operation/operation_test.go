package operation_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/operation"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

var olga = id.Caller{Key: "olga", Role: id.Operator}

type work struct {
	Secret string `json:"secret"`
}

func (work) Kind() string { return "work" }

// node is one of a cluster that shares a bus.
type node struct {
	*operation.Service
	t     *testing.T
	clock *clocktest.Manual
	jobs  *job.Service
	db    *sqldb.DB
	audit *auditlog.Log
	bus   *membus.Bus
	sends prometheus.Counter

	backups backups
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens the node a, which sees nodes with some names.
func open(t *testing.T, names ...string) *node {
	t.Helper()
	n := &node{t: t, clock: clocktest.NewManual(), bus: membus.New(), sends: prometheus.NewCounter(prometheus.CounterOpts{Name: "rialto_sends_total"})}
	var err error
	n.db, err = sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	logger := slog.New(slog.DiscardHandler)
	n.jobs, err = job.New(t.Context(), job.Deps{DB: n.db, Clock: n.clock, Logger: logger, Node: "a"}, job.Config{})
	must(t, err)
	n.audit, err = auditlog.New(t.Context(), n.db, n.clock)
	must(t, err)
	registry := prometheus.NewRegistry()
	latency := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "rialto_call_seconds", Buckets: []float64{0.1, 1}}, []string{"call"})
	registry.MustRegister(n.sends, latency, prometheus.NewCounter(prometheus.CounterOpts{Name: "not_shown"}))
	latency.WithLabelValues("send").Observe(0.5)
	latency.WithLabelValues("a.user.called").Observe(0.5)
	n.Service = operation.New(operation.Deps{Jobs: n.jobs, Queues: []string{"other", job.DefaultQueue}, Audit: n.audit, DB: n.db, Backups: &n.backups, Metrics: registry, Self: func() *operationv1.NodeReport { return &operationv1.NodeReport{Version: "v1"} },
		Bus: n.bus, Node: "a", Nodes: func() []string { return names }, Clock: n.clock, Logger: logger})
	n.AskFor(eventually.Timeout) // a slow machine is no silent node
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, n.bus.Close(), n.db.Close()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// insert adds a job that is due in an hour.
func (n *node) insert() uint64 {
	n.t.Helper()
	done, err := n.jobs.Insert(n.t.Context(), work{Secret: "of a user"}, job.Options{At: n.clock.Now().Add(time.Hour)})
	must(n.t, err)
	return uint64(done.ID)
}

func figuresOf(r *operationv1.NodeReport) (list []string) {
	for _, f := range r.Figures {
		list = append(list, fmt.Sprint(f.Name, "{", f.Labels, "} ", f.Value, " ", f.Bounds, " ", f.Counts))
	}
	return list
}

// Each live node is in the list, by name: with the figures that are shown, or with why it did not answer.
func TestNodesAnswerOrAreNamed(t *testing.T) {
	n := open(t, "gone", "a", "b", "torn", "mute")
	b, err := proto.Marshal(&operationv1.NodeReport{Version: "v2"})
	must(t, err)
	for name, answer := range map[string][]byte{"b": b, "torn": []byte("\xff"), "mute": nil} {
		stop, err := n.bus.Respond(bus.NodeSubject(name, "report"), func([]byte) []byte { return answer })
		must(t, err)
		defer stop()
	}
	n.sends.Add(7)
	list, err := n.ListNodes(t.Context(), olga, &operationv1.ListNodesRequest{})
	must(t, err)
	var names []string
	for _, r := range list.Nodes {
		names = append(names, fmt.Sprint(r.Name, " ", r.Answered, " ", r.Error != ""))
	}
	if want := []string{"a true false", "b true false", "gone false true", "mute false true", "torn false true"}; !slices.Equal(names, want) {
		t.Fatalf("the nodes are %q, want %q", names, want)
	}
	want := []string{"rialto_call_seconds{call=send} 0.5 [0.1 1] [0 1 1]", "rialto_sends_total{} 7 [] []"}
	if got := figuresOf(list.Nodes[0]); !slices.Equal(got, want) || list.Nodes[0].Version != "v1" {
		t.Errorf("the figures are %q, want %q", got, want)
	}
	if list.TimeMs != n.clock.Now().UnixMilli() {
		t.Errorf("they were asked at %d", list.TimeMs)
	}
}

// A node answers others with its own report, and gathers figures at most once a second.
func TestReportsAreGatheredOnceASecond(t *testing.T) {
	n := open(t, "a")
	sends := func() float64 {
		list, err := n.ListNodes(t.Context(), olga, &operationv1.ListNodesRequest{})
		must(t, err)
		return list.Nodes[0].Figures[1].Value
	}
	if got := sends(); got != 0 {
		t.Fatalf("at first there were %v sends", got)
	}
	n.sends.Inc()
	if got := sends(); got != 0 {
		t.Errorf("in the same second the figures were gathered again: %v", got)
	}
	n.clock.Advance(time.Second)
	if got := sends(); got != 1 {
		t.Errorf("a second later there were %v sends", got)
	}
	eventually.True(t, "it answers others", func() bool {
		answer, err := n.bus.Request(t.Context(), bus.NodeSubject("a", "report"), nil)
		return err == nil && len(answer) > 0
	})
}

// reason is that of an error.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

// A waiting job is stopped, retried, stopped again and dropped. Each change is in the audit log once, with who, when and the states; what is refused is not. Arguments
// and errors, which may have data of users, are not.
func TestChangesOfJobsAreAudited(t *testing.T) {
	n := open(t, "a")
	job := n.insert()
	retry := func() error {
		_, err := n.RetryJob(t.Context(), olga, &operationv1.RetryJobRequest{Id: job, Reason: "the cause is gone"})
		return err
	}
	discard := func() error {
		_, err := n.DiscardJob(t.Context(), olga, &operationv1.DiscardJobRequest{Id: job})
		return err
	}
	drop := func() error {
		_, err := n.DropJob(t.Context(), olga, &operationv1.DropJobRequest{Id: job})
		return err
	}
	for i, step := range []struct {
		do   func() error
		want string
	}{{retry, "not_finished"}, {drop, "not_finished"}, {discard, ""}, {discard, "finished"}, {retry, ""}, {discard, ""}, {drop, ""}, {drop, "no_job"}, {retry, "no_job"}, {discard, "no_job"}} {
		n.clock.Advance(time.Second)
		if got := reason(step.do()); got != step.want {
			t.Fatalf("step %d is answered with %q, want %q", i, got, step.want)
		}
	}
	list, err := n.ListAuditEntries(t.Context(), olga, &operationv1.ListAuditEntriesRequest{})
	must(t, err)
	var got []string
	for i, e := range list.Entries {
		state := func(text string) string {
			for _, s := range []string{"available", "discarded"} {
				if strings.Contains(text, `"state":"`+s+`"`) {
					return s
				}
			}
			return text
		}
		got = append(got, strings.Join([]string{e.Who, e.Action, state(e.Before), state(e.After), e.Reason}, ","))
		if e.Subject != fmt.Sprint("job ", job, " work") || strings.Contains(e.Before+e.After, "of a user") || strings.Contains(e.Before+e.After, "by an operator") || i > 0 && list.Entries[i-1].TimeMs <= e.TimeMs {
			t.Errorf("entry %d is %v", i, e)
		}
	}
	want := []string{"olga,job.drop,discarded,,", "olga,job.discard,available,discarded,", "olga,job.retry,discarded,available,the cause is gone", "olga,job.discard,available,discarded,"}
	if !slices.Equal(got, want) || list.More {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
	first, err := n.ListAuditEntries(t.Context(), olga, &operationv1.ListAuditEntriesRequest{Limit: 3})
	must(t, err)
	second, err := n.ListAuditEntries(t.Context(), olga, &operationv1.ListAuditEntriesRequest{Limit: 3, Before: first.Entries[2].Id})
	must(t, err)
	if !first.More || len(first.Entries) != 3 || second.More || len(second.Entries) != 1 || second.Entries[0].Id != list.Entries[3].Id {
		t.Errorf("the pages are %v and %v", first, second)
	}
}

var errAudit = errors.New("the entry cannot be stored")

// Without its entry in the audit log, a change is not made.
func TestNoChangeWithoutAnEntry(t *testing.T) {
	n := open(t, "a")
	waiting, dead := int64(n.insert()), int64(n.insert())
	_, err := n.jobs.Discard(t.Context(), dead, nil)
	must(t, err)
	fail := func(context.Context, *sql.Tx, job.Info, job.Info) error { return errAudit }
	_, stopped := n.jobs.Discard(t.Context(), waiting, fail)
	for _, err := range []error{stopped, n.jobs.Retry(t.Context(), dead, fail), n.jobs.Drop(t.Context(), dead, fail)} {
		if !errors.Is(err, errAudit) {
			t.Errorf("it is answered with %v", err)
		}
	}
	for of, want := range map[int64]job.State{waiting: job.Available, dead: job.Discarded} {
		if i, err := n.jobs.Get(t.Context(), of); err != nil || i.State != want {
			t.Errorf("job %d is %s (%v), want %s", of, i.State, err, want)
		}
	}
}

// Queues are counted by name. Jobs are listed without their arguments, and read with them.
func TestQueuesAndJobs(t *testing.T) {
	n := open(t, "a")
	waiting, dead := n.insert(), n.insert()
	_, err := n.jobs.Discard(t.Context(), int64(dead), nil)
	must(t, err)
	queues, err := n.ListQueues(t.Context(), olga, &operationv1.ListQueuesRequest{})
	must(t, err)
	if q := queues.Queues; len(q) != 2 || q[0].Name != "default" || q[0].Scheduled != 1 || q[0].Due != 0 || q[0].Discarded != 1 || q[1].Name != "other" || q[1].Scheduled+q[1].Discarded != 0 {
		t.Errorf("the queues are %v", q)
	}
	for state, want := range map[operationv1.JobState]uint64{operationv1.JobState_JOB_STATE_AVAILABLE: waiting, operationv1.JobState_JOB_STATE_DISCARDED: dead} {
		list, err := n.ListJobs(t.Context(), olga, &operationv1.ListJobsRequest{State: state})
		must(t, err)
		if len(list.Jobs) != 1 || list.Jobs[0].Id != want || list.Jobs[0].State != state || list.Jobs[0].Arguments != "" {
			t.Errorf("in state %v there are %v", state, list.Jobs)
		}
	}
	if j, err := n.GetJob(t.Context(), olga, &operationv1.GetJobRequest{Id: dead}); err != nil || j.Arguments != `{"secret":"of a user"}` || j.Kind != "work" {
		t.Errorf("the job is %v (%v)", j, err)
	}
	_, unknownState := n.ListJobs(t.Context(), olga, &operationv1.ListJobsRequest{})
	_, unknownQueue := n.ListJobs(t.Context(), olga, &operationv1.ListJobsRequest{State: operationv1.JobState_JOB_STATE_AVAILABLE, Queue: "none"})
	_, longReason := n.RetryJob(t.Context(), olga, &operationv1.RetryJobRequest{Id: dead, Reason: strings.Repeat("é", 501)})
	if reason(unknownState) != "bad_job_state" || reason(unknownQueue) != "no_queue" || reason(longReason) != "bad_change" {
		t.Errorf("wrong requests are answered with %v, %v, %v", unknownState, unknownQueue, longReason)
	}
}

// An auditor may not change, and all auditors together make a limited number of calls, which leaves operators theirs.
func TestCallsAreChecked(t *testing.T) {
	n := open(t, "a")
	auditor := id.Caller{Key: "adam", Role: id.Auditor}
	if got := reason(n.CheckCall(auditor, id.Operator)); got != "no_operator" {
		t.Errorf("an auditor who changes is answered with %q", got)
	}
	allowed := 0
	for n.CheckCall(auditor, id.Auditor) == nil {
		allowed++
	}
	if allowed != 100 || reason(n.CheckCall(id.Caller{Key: "eva", Role: id.Auditor}, id.Auditor)) != "too_many_requests" {
		t.Errorf("%d calls were allowed at once", allowed)
	}
	if err := n.CheckCall(olga, id.Operator); err != nil {
		t.Errorf("an operator, meanwhile: %v", err)
	}
	n.clock.Advance(time.Second)
	if err := n.CheckCall(auditor, id.Auditor); err != nil {
		t.Errorf("a second later: %v", err)
	}
}
