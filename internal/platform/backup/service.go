package backup

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// State of the latest backup of a server.
type State int

// The states.
const (
	None State = iota // no backup was asked for since the start
	Running
	Complete
	Failed
	Cancelled
)

// Status of the latest backup of a server.
type Status struct {
	State State
	// By is who asked for it.
	By string
	// Directory of the backups.
	Directory string
	Done      int64 // bytes
	Total     int64
	Started   time.Time
	Ended     time.Time // zero while it runs
	Result    Result    // of a complete one
	Err       error     // of a failed one
}

// Service makes the backups that operators ask a running server for, one at a time. Who loses the answer may ask for the status: the backup goes on.
type Service struct {
	source Source
	config Config
	clock  clock.Clock
	logger *slog.Logger

	requests chan struct{} // at most one: a backup that Run is to begin

	saidNone bool // the log has that there is no backup yet; only Run uses it

	mu     sync.Mutex // guards the fields below
	status Status
	cutMs  int64              // the moment of the newest backup that is known, in milliseconds since 1970; 0: none is
	cancel context.CancelFunc // of the backup that runs; nil before Run has begun it
	ending bool               // the backup is to end
	ended  bool               // Run has returned
}

// NewService returns a Service, which Run runs. Without stores in the source it refuses backups.
func NewService(source Source, c Config, now clock.Clock, logger *slog.Logger) *Service {
	return &Service{source: source, config: c, clock: now, logger: logger, requests: make(chan struct{}, 1)}
}

var (
	errRunning   = errs.New(errs.Conflict, "backup_running", "a backup is running; wait until it has ended, or cancel it")
	errNone      = errs.New(errs.Conflict, "no_backup", "no backup is running")
	errOff       = errs.New(errs.Invalid, "backup_off", "this server has no directory for backups: set backup.directory, and start it again")
	errShared    = errs.New(errs.Invalid, "backup_shared", "the data of this node is in engines that nodes share: back them up with their own tools (docs/operating/backup.md)")
	errCancelled = errors.New("the backup was cancelled, or the server stopped")
	errClosing   = &errs.Error{Kind: errs.Unavailable, Reason: "closing", Message: "the server is stopping; reconnect", Retry: time.Second}
)

// Start begins a backup for somebody, after record, which may refuse it. It returns the status of the backup that began.
func (s *Service) Start(ctx context.Context, by string, record func(ctx context.Context, directory string) error) (Status, error) {
	if s.source.Stores == nil {
		return Status{}, errShared
	}
	if s.config.Directory == "" {
		return Status{}, errOff
	}
	s.mu.Lock()
	if s.ended || s.status.State == Running {
		defer s.mu.Unlock()
		if s.ended {
			return s.status, errClosing
		}
		return s.status, errRunning
	}
	was := s.status
	s.ending = false
	s.status = Status{State: Running, By: by, Directory: s.config.Directory, Started: s.clock.Now()}
	s.mu.Unlock()
	if err := record(ctx, s.config.Directory); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.status = was
		return was, err
	}
	s.requests <- struct{}{} // never blocks: nobody else has begun one
	return s.Status(), nil
}

// Status of the latest backup.
func (s *Service) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Cancel ends the backup that runs, after record. What it has copied is used by the next one.
func (s *Service) Cancel(ctx context.Context, record func(ctx context.Context, directory string) error) (Status, error) {
	if s.Status().State != Running {
		return s.Status(), errNone
	}
	if err := record(ctx, s.config.Directory); err != nil {
		return s.Status(), err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending = true; s.cancel != nil {
		s.cancel()
	}
	return s.status, nil
}

// Run makes the backups until ctx ends, which also cancels one that runs.
func (s *Service) Run(ctx context.Context) error {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ended = true; s.status.State == Running { // it was not begun
			s.status.State, s.status.Ended, s.status.Err = Cancelled, s.clock.Now(), errCancelled
		}
	}()
	if !s.Enabled() {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(ageInterval)
	defer ticker.Stop()
	s.readAge(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.readAge(ctx)
		case <-s.requests:
			s.make(ctx)
		}
	}
}

// ageInterval is how often a server looks for the newest backup, which another process may have made or removed. ageTimeout bounds that.
const (
	ageInterval = 10 * time.Minute
	ageTimeout  = time.Minute
)

// Enabled reports whether the server can make backups.
func (s *Service) Enabled() bool { return s.source.Stores != nil && s.config.Directory != "" }

// readAge reads when the newest backup was made. While that cannot be read, the last answer counts.
func (s *Service) readAge(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, ageTimeout)
	defer cancel()
	cutMs, err := latestCut(ctx, s.config, s.source.Stores.Identity().ID)
	if absent := (*absentError)(nil); errors.As(err, &absent) && !s.knowsBackup() {
		if !s.saidNone {
			s.logger.Info("there is no backup yet; make one with rialto backup", "directory", s.config.Directory)
		}
		s.saidNone = true
		return
	}
	if err != nil {
		s.logger.Warn("it is unknown when the newest backup was made", "directory", s.config.Directory, "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutMs = cutMs
}

// knowsBackup reports whether the moment of a backup is known.
func (s *Service) knowsBackup() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cutMs != 0
}

// Age of the newest complete backup of this data directory, in seconds; +Inf: none is known.
func (s *Service) Age() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cutMs == 0 {
		return math.Inf(1)
	}
	return max(s.clock.Now().Sub(time.UnixMilli(s.cutMs)).Seconds(), 0)
}

// make makes a backup.
func (s *Service) make(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if s.cancel = cancel; s.ending {
		cancel()
	}
	s.mu.Unlock()
	result, err := Make(ctx, s.source, s.config, s.clock.Now(), func(done, total int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.status.Done, s.status.Total = done, total
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel, s.status.Ended = nil, s.clock.Now()
	switch {
	case err == nil:
		s.status.State, s.status.Result, s.cutMs = Complete, *result, result.CutMs
		s.logger.Info("a backup is complete", "backup", result.ID, "directory", s.config.Directory, "files", result.Files, "new_files", result.NewFiles, "new_bytes", result.NewBytes)
	case ctx.Err() != nil:
		s.status.State, s.status.Err = Cancelled, errCancelled
		s.logger.Info("a backup was cancelled", "directory", s.config.Directory)
	default:
		s.status.State, s.status.Err = Failed, err
		s.logger.Error("a backup failed: earlier ones are not affected", "directory", s.config.Directory, "error", err)
	}
}
