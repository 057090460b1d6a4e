package backup_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/platform/backup"
)

// running runs a service on a directory until the test ends, or until stop is called.
func running(t *testing.T, d *directory, c backup.Config) (s *backup.Service, stop func()) {
	t.Helper()
	s = backup.NewService(backup.Source{Dir: d.dir, Stores: d.stores, Files: d.files}, c, clock.System{}, quiet)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		cancel()
		if stopped {
			return
		}
		stopped = true
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return s, stop
}

func recordNothing(context.Context, string) error { return nil }

// A backup that was asked for is recorded first, and made in the background. Its status tells how it ended.
func TestAServiceMakesBackups(t *testing.T) {
	d := newDirectory(t)
	d.add(10)
	d.put("a/1")
	s, _ := running(t, d, d.config())
	if got := s.Status(); got.State != backup.None {
		t.Errorf("at first: %+v", got)
	}
	refusal := errors.New("not recorded")
	if got, err := s.Start(t.Context(), "olga", func(context.Context, string) error { return refusal }); !errors.Is(err, refusal) || got.State != backup.None {
		t.Errorf("a backup that is not recorded: %+v, %v", got, err)
	}
	recorded := ""
	got, err := s.Start(t.Context(), "olga", func(_ context.Context, directory string) error { recorded = directory; return nil })
	if err != nil || got.By != "olga" || recorded != d.backups || got.Directory != d.backups {
		t.Errorf("started: %+v, %v, recorded %q", got, err, recorded)
	}
	eventually.True(t, "the backup is complete", func() bool { return s.Status().State == backup.Complete })
	got = s.Status()
	if got.Done != got.Total || got.Total == 0 || got.Ended.IsZero() || got.Err != nil {
		t.Errorf("complete: %+v", got)
	}
	d.restored(d.restoreOptions(got.Result.ID), 10, "a/1")
}

// One backup runs at a time. It is cancelled by an operator, or by the end of the service.
func TestABackupIsCancelled(t *testing.T) {
	d := newDirectory(t)
	d.add(600) // more than is read at once
	slow := d.config()
	slow.BytesPerSecond = 1
	s, stop := running(t, d, slow)
	if _, err := s.Cancel(t.Context(), recordNothing); errs.Of(err).Reason != "no_backup" {
		t.Errorf("cancelling none returned %v", err)
	}
	start := func() {
		t.Helper()
		if _, err := s.Start(t.Context(), "olga", recordNothing); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start(t.Context(), "otto", recordNothing); errs.Of(err).Reason != "backup_running" {
			t.Errorf("a second one returned %v", err)
		}
	}
	start()
	if _, err := s.Cancel(t.Context(), recordNothing); err != nil { // perhaps before it began
		t.Error(err)
	}
	eventually.True(t, "the backup is cancelled", func() bool { return s.Status().State == backup.Cancelled })
	start()
	eventually.True(t, "the backup reads", func() bool { return s.Status().Done > 0 })
	if got := s.Status(); got.State != backup.Running || got.By != "olga" {
		t.Errorf("running: %+v", got)
	}
	refusal := errors.New("not recorded")
	if _, err := s.Cancel(t.Context(), func(context.Context, string) error { return refusal }); !errors.Is(err, refusal) {
		t.Errorf("a cancellation that is not recorded returned %v", err)
	}
	stop()
	if got := s.Status(); got.State != backup.Cancelled || got.Err == nil {
		t.Errorf("after the end: %+v", got)
	}
	if _, err := s.Start(t.Context(), "olga", recordNothing); errs.Of(err).Reason != "closing" {
		t.Errorf("after the end a backup returned %v", err)
	}
	if list, err := backup.List(t.Context(), d.config()); err != nil || len(list) != 0 {
		t.Errorf("cancelled backups are listed: %v, %v", list, err)
	}
}

// A failed backup says why, and the next one may succeed. Without a directory, or with stores that nodes share, a backup is refused.
func TestABackupFails(t *testing.T) {
	d := newDirectory(t)
	d.add(1)
	c := d.config()
	c.Directory = d.dir
	s, _ := running(t, d, c)
	if _, err := s.Start(t.Context(), "olga", recordNothing); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the backup has failed", func() bool { return s.Status().State == backup.Failed })
	if err := s.Status().Err; err == nil {
		t.Error("it does not say why")
	}
	if off, _ := running(t, d, backup.Config{}); true {
		if _, err := off.Start(t.Context(), "olga", recordNothing); errs.Of(err).Reason != "backup_off" {
			t.Errorf("without a directory a backup returned %v", err)
		}
	}
	shared := backup.NewService(backup.Source{}, c, clock.System{}, quiet)
	if _, err := shared.Start(t.Context(), "olga", recordNothing); errs.Of(err).Reason != "backup_shared" {
		t.Errorf("with shared engines a backup returned %v", err)
	}
}

// Before the first backup, the log says once that there is none. A directory that has other files, or whose backups went away, is a warning each time.
func TestTheLogKnowsTheFirstBackup(t *testing.T) {
	d := newDirectory(t)
	d.add(1)
	var log strings.Builder
	s := backup.NewService(backup.Source{Dir: d.dir, Stores: d.stores, Files: d.files}, d.config(), clock.System{}, slog.New(slog.NewTextHandler(&log, nil)))
	looked := func(what string, infos, warnings int) {
		t.Helper()
		log.Reset()
		for range 2 {
			s.ReadAge(t.Context())
		}
		if i, w := strings.Count(log.String(), `level=INFO msg="there is no backup yet`), strings.Count(log.String(), "level=WARN"); i != infos || w != warnings {
			t.Errorf("%s: %d lines at INFO, want %d; %d at WARN, want %d: %s", what, i, infos, w, warnings, &log)
		}
	}
	if err := os.MkdirAll(d.backups, 0o700); err != nil {
		t.Fatal(err)
	}
	looked("an empty directory", 1, 0)
	if err := os.Remove(d.backups); err != nil {
		t.Fatal(err)
	}
	looked("no directory", 0, 0)
	d.mustMake()
	looked("a backup", 0, 0)
	if err := os.Rename(d.backups, d.backups+".away"); err != nil {
		t.Fatal(err)
	}
	looked("a backup that went away", 0, 2)
	if err := os.WriteFile(d.backups, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s = backup.NewService(backup.Source{Dir: d.dir, Stores: d.stores, Files: d.files}, d.config(), clock.System{}, slog.New(slog.NewTextHandler(&log, nil)))
	looked("a file", 0, 2)
}
