package operation

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// states of jobs in the API.
var states = map[operationv1.JobState]job.State{
	operationv1.JobState_JOB_STATE_AVAILABLE: job.Available, operationv1.JobState_JOB_STATE_RUNNING: job.Running, operationv1.JobState_JOB_STATE_COMPLETED: job.Completed,
	operationv1.JobState_JOB_STATE_CANCELLED: job.Cancelled, operationv1.JobState_JOB_STATE_DISCARDED: job.Discarded,
}

func stateOf(s job.State) operationv1.JobState {
	for out, in := range states {
		if in == s {
			return out
		}
	}
	return operationv1.JobState_JOB_STATE_UNSPECIFIED
}

var (
	errNoJob    = errs.New(errs.NotFound, "no_job", "there is no such job; finished ones are deleted after some time")
	errState    = errs.New(errs.Invalid, "bad_job_state", "give the state of the jobs: available, running, completed, cancelled or discarded")
	errQueue    = errs.New(errs.NotFound, "no_queue", "there is no such queue")
	errReason   = errs.New(errs.Invalid, "bad_change", fmt.Sprintf("a reason has at most %d characters%s", message.MaxReason, message.TextRule))
	errFinished = errs.New(errs.Conflict, "finished", "this job has ended")
)

// ListQueues counts the jobs of each queue, at most every two seconds.
func (s *Service) ListQueues(ctx context.Context, _ id.Caller, _ *operationv1.ListQueuesRequest) (*operationv1.ListQueuesResponse, error) {
	s.counting.Lock()
	defer s.counting.Unlock()
	now := s.deps.Clock.Now()
	if age := now.Sub(s.countsAt); s.counts != nil && age >= 0 && age < countsFor {
		return s.counts, nil
	}
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	out := &operationv1.ListQueuesResponse{}
	for _, name := range slices.Sorted(slices.Values(s.deps.Queues)) {
		c, err := s.deps.Jobs.Counts(ctx, name)
		if err != nil {
			return nil, err
		}
		out.Queues = append(out.Queues, &operationv1.JobQueue{Name: name, Due: uint32(c.Due), Scheduled: uint32(c.Scheduled), Running: uint32(c.Running), Retrying: uint32(c.Retrying),
			Discarded: uint32(c.Discarded), OldestMs: c.Oldest.Milliseconds()})
	}
	s.counts, s.countsAt = out, now
	return out, nil
}

// ListJobs gives jobs in a state.
func (s *Service) ListJobs(ctx context.Context, _ id.Caller, r *operationv1.ListJobsRequest) (*operationv1.ListJobsResponse, error) {
	state, ok := states[r.State]
	if !ok {
		return nil, errState
	}
	queue := r.Queue
	if queue == "" {
		queue = job.DefaultQueue
	}
	if !slices.Contains(s.deps.Queues, queue) {
		return nil, errQueue
	}
	list, err := s.deps.Jobs.List(ctx, state, queue, page(r.Limit))
	out := &operationv1.ListJobsResponse{}
	for _, i := range list {
		j := jobOf(i)
		j.Arguments = ""
		out.Jobs = append(out.Jobs, j)
	}
	return out, err
}

// GetJob gives a job with its arguments.
func (s *Service) GetJob(ctx context.Context, _ id.Caller, r *operationv1.GetJobRequest) (*operationv1.Job, error) {
	i, err := s.deps.Jobs.Get(ctx, int64(r.Id))
	if err != nil {
		return nil, jobError(err)
	}
	return jobOf(i), nil
}

// RetryJob makes a dead letter, or a cancelled job, available again.
func (s *Service) RetryJob(ctx context.Context, c id.Caller, r *operationv1.RetryJobRequest) (*operationv1.Job, error) {
	return s.change(ctx, c, r.Id, "job.retry", r.Reason, s.deps.Jobs.Retry)
}

// DiscardJob makes a waiting job a dead letter, and cancels a running one.
func (s *Service) DiscardJob(ctx context.Context, c id.Caller, r *operationv1.DiscardJobRequest) (*operationv1.Job, error) {
	return s.change(ctx, c, r.Id, "job.discard", r.Reason, func(ctx context.Context, id int64, audit job.Audit) error {
		done := false
		_, err := s.deps.Jobs.Discard(ctx, id, func(ctx context.Context, tx *sql.Tx, before, after job.Info) error {
			done = true
			return audit(ctx, tx, before, after)
		})
		if err == nil && !done {
			return errFinished
		}
		return err
	})
}

// DropJob deletes a dead letter.
func (s *Service) DropJob(ctx context.Context, c id.Caller, r *operationv1.DropJobRequest) (*operationv1.DropJobResponse, error) {
	_, err := s.change(ctx, c, r.Id, "job.drop", r.Reason, s.deps.Jobs.Drop)
	return &operationv1.DropJobResponse{}, err
}

// change changes a job, with an entry in the audit log, and returns it as it is afterwards.
func (s *Service) change(ctx context.Context, c id.Caller, n uint64, action, reason string, do func(ctx context.Context, id int64, audit job.Audit) error) (*operationv1.Job, error) {
	if !message.IsReason(reason) {
		return nil, errReason
	}
	var changed job.Info
	err := do(ctx, int64(n), func(ctx context.Context, tx *sql.Tx, before, after job.Info) error {
		changed = after
		return s.deps.Audit.Add(ctx, tx, auditlog.Entry{Who: c.Key, Action: action, Subject: fmt.Sprint("job ", before.ID, " ", before.Kind), Before: describe(before), After: describe(after), Reason: reason})
	})
	if err != nil {
		return nil, jobError(err)
	}
	return jobOf(changed), nil
}

// describe says in what state a job is. Its arguments and its error are left out: they may have data of users, as the error of a
// mail server has the address, and the log is kept.
func describe(i job.Info) string {
	if i.ID == 0 {
		return ""
	}
	state := map[string]any{"state": i.State, "queue": i.Queue, "failures": i.Failures, "attempts": i.Attempt}
	if i.Cancelling {
		state["cancelling"] = true
	}
	text, err := json.Marshal(state)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// jobError gives errors of jobs their reasons.
func jobError(err error) error {
	wrong := (*job.StateError)(nil)
	switch {
	case errors.Is(err, job.ErrNoJob):
		return errNoJob
	case errors.As(err, &wrong):
		return errs.New(errs.Conflict, "not_finished", wrong.Error())
	}
	return err
}

func jobOf(i job.Info) *operationv1.Job {
	return &operationv1.Job{Id: uint64(i.ID), Kind: i.Kind, Queue: i.Queue, State: stateOf(i.State), Cancelling: i.Cancelling, Priority: uint32(i.Priority),
		CreatedMs: ms(i.Created), DueMs: ms(i.Due), AttemptedMs: ms(i.Attempted), FinishedMs: ms(i.Finished), AttemptedBy: i.AttemptedBy, Attempts: uint32(i.Attempt),
		Failures: uint32(i.Failures), MaxFailures: uint32(i.Max), Error: i.Error, Arguments: strings.ToValidUTF8(string(i.Args), "\ufffd"), UniqueKey: i.Unique}
}

func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
