package job

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"go.opentelemetry.io/otel/trace"
)

// Run runs jobs until ctx ends and the attempts in progress have ended. They may continue for stopGrace; then their contexts end, and those
// that are not complete run again on another node, or after the next start. With nil workers, this node runs no jobs: it
// notifies the others of those that it inserts, and rescues those of its former process.
func (s *Service) Run(ctx context.Context, w *Workers) error {
	if w == nil {
		w = NewWorkers(nil)
	}
	s.metrics.addQueues(w.names())
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.notifyPeers(ctx) })
	group.Go(func() { s.maintain(ctx, w) })
	if len(w.queues) == 0 {
		<-ctx.Done()
		return nil
	}
	attempts, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(errStopping)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, func() { cancel(errStopping) }) })()
	d := &dispatcher{service: s, workers: w, attempts: attempts, free: map[string]int{}, freed: make(chan string, maxWorkers), group: &sync.WaitGroup{}}
	for queue, n := range w.queues {
		d.free[queue] = n
	}
	d.run(ctx)
	d.wait()
	return nil
}

// notifyPeers notifies the other nodes of new jobs, of all that were inserted within notifyDelay together.
func (s *Service) notifyPeers(ctx context.Context) {
	for {
		select {
		case <-s.peers:
		case <-ctx.Done():
			return
		}
		if s.deps.NotifyPeers != nil {
			s.deps.NotifyPeers()
			_ = backoff.Sleep(ctx, notifyDelay) // the loop sees the context's end
		}
	}
}

// dispatcher claims jobs and starts their attempts. Its fields belong to the goroutine of run, except that attempts send on freed.
type dispatcher struct {
	service  *Service
	workers  *Workers
	attempts context.Context // of all attempts
	free     map[string]int  // workers of each queue that are free
	freed    chan string     // the queue of an attempt that has ended
	group    *sync.WaitGroup // of the attempts
	busy     int             // attempts in progress
	checked  time.Time       // when the attempts were last compared with their rows
}

func (d *dispatcher) run(ctx context.Context) {
	retry := backoff.New(retryFirst, retryMax)
	for ctx.Err() == nil {
		wait, err := d.round(ctx)
		if err != nil {
			if ctx.Err() == nil {
				d.service.deps.Logger.Warn("jobs could not be claimed; it is tried again", "error", err)
			}
			wait = retry.Next()
		} else {
			retry.Reset()
		}
		d.sleep(ctx, wait)
	}
}

// round claims jobs of each queue that has free workers. It returns how long to wait for the next round, unless something happens.
func (d *dispatcher) round(ctx context.Context) (time.Duration, error) {
	if since := time.Since(d.checked); since >= rescueInterval || d.busy > 0 && since >= cancelInterval {
		if err := d.service.checkAttempts(ctx); err != nil {
			return 0, err
		}
		d.checked = time.Now()
	}
	wait := jobPollInterval
	for _, queue := range d.workers.names() {
		if d.free[queue] == 0 {
			continue
		}
		list, err := d.service.claim(ctx, queue, d.free[queue])
		if err != nil {
			return 0, err
		}
		for _, c := range list {
			d.start(c)
		}
		if d.free[queue] == 0 {
			continue
		}
		now := d.service.nowMs()
		next, err := d.service.nextDue(ctx, queue, now)
		if err != nil {
			return 0, err
		}
		if next > 0 {
			wait = min(wait, time.Duration(next-now)*time.Millisecond)
		}
	}
	if d.busy > 0 {
		wait = min(wait, cancelInterval)
	}
	return wait, nil
}

func (d *dispatcher) start(c *claimed) {
	d.free[c.queue]--
	d.busy++
	a := d.service.begin(d.attempts, c)
	d.group.Go(func() {
		d.service.attempt(a, d.workers)
		d.freed <- c.queue
	})
}

// sleep returns after some time, or when there may be something to do.
func (d *dispatcher) sleep(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-d.service.wake:
	case queue := <-d.freed:
		d.release(queue)
	case <-timer.C:
	case <-ctx.Done():
	}
	for { // all that have ended meanwhile: one transaction claims for all of them
		select {
		case queue := <-d.freed:
			d.release(queue)
		default:
			return
		}
	}
}

func (d *dispatcher) release(queue string) {
	d.free[queue]++
	d.busy--
}

// wait returns when all attempts have ended.
func (d *dispatcher) wait() {
	for d.busy > 0 {
		d.release(<-d.freed)
	}
	d.group.Wait()
}

// attempt is one that is in progress in this process.
type attempt struct {
	*claimed
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// begin registers an attempt, so that it can be cancelled.
func (s *Service) begin(ctx context.Context, c *claimed) *attempt {
	a := &attempt{claimed: c}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[c.id] = a
	return a
}

// attempt runs a claimed job to its end.
func (s *Service) attempt(a *attempt, w *Workers) {
	defer func() {
		a.cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running[a.id] == a { // after errStuck there may be the next one
			delete(s.running, a.id)
		}
	}()
	if s.reached("after-claim") != nil {
		return
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(a.ctx, a.timeout)
	defer cancel()
	ctx, span := s.deps.Tracer.Root(ctx, "job.attempt", trace.SpanKindConsumer, "")
	span.Text("rialto.job.kind", a.kind)
	span.Text("rialto.job.queue", a.queue)
	returned := make(chan error, 1)
	go func() { returned <- w.run(ctx, a.claimed) }()
	var err error
	select {
	case err = <-returned:
	case <-ctx.Done():
		stuck := time.NewTimer(s.stuckGrace)
		defer stuck.Stop()
		select {
		case err = <-returned:
		case <-stuck.C:
			err = errStuck
			defer func() { <-returned }() // its worker is not free before
		}
	}
	span.End(err)
	if s.reached("before-finish") != nil {
		return
	}
	s.finish(a, s.outcomeOf(a, err), time.Since(began))
	_ = s.reached("after-finish") // nothing is left to abandon
}

// outcomeOf returns what becomes of a job whose worker returned err.
func (s *Service) outcomeOf(a *attempt, err error) outcome {
	var snooze *snoozed
	var refused *outgoing.Refused
	var end *final
	cause := context.Cause(a.ctx)
	switch {
	case err == nil:
		return outcome{state: Completed, failures: a.failures, result: resultCompleted}
	case errors.As(err, &snooze):
		return outcome{state: Available, dueMs: s.nowMs() + snooze.delay.Milliseconds(), failures: a.failures, result: resultSnoozed}
	case errors.As(err, &refused): // nothing was sent
		delay := refused.Delay(time.Duration(s.nowMs()-a.createdMs) * time.Millisecond)
		return outcome{state: Available, dueMs: s.nowMs() + delay.Milliseconds(), failures: a.failures, text: err.Error(), result: resultSnoozed}
	case errors.As(err, &end):
		return outcome{state: end.state, failures: a.failures, text: err.Error(), result: string(end.state)}
	case errors.Is(cause, errStopping):
		return outcome{state: Available, dueMs: s.nowMs(), failures: a.failures, result: resultInterrupted}
	}
	return s.failed(a.failures, a.maxFailures, err)
}

// failed is the outcome of an attempt that failed: another one after a delay, or a dead letter.
func (s *Service) failed(failures, most int64, err error) outcome {
	failures++
	if failures >= most {
		return outcome{state: Discarded, failures: failures, text: err.Error(), result: resultDiscarded}
	}
	delay := backoff.After(int(failures), failureFirst, failureMax)
	return outcome{state: Available, dueMs: s.nowMs() + delay.Milliseconds(), failures: failures, text: err.Error(), result: resultFailed}
}
