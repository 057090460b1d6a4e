package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/printable"
	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/backup"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/tool/apiclient"
	"github.com/rialto-im/rialto/internal/tool/move"
	"github.com/rialto-im/rialto/internal/tool/remotebackup"
)

const backupHelp = `backup copies a data directory, as it is at one moment, to a directory of backups. Files that an earlier backup there has are not copied again.

  rialto backup --url http://127.0.0.1:7071 --key @FILE   ask a running server by its admin listener, or the address of its clients; it needs the setting backup.directory. The key has the role operator
  rialto backup --data DIR --to BACKUPS                   back up the directory of a server that is stopped
  rialto backup --to BACKUPS --list                       list the backups
  rialto backup --to BACKUPS --remove ID                  remove a backup, and what only it needs
  rialto backup --new-key FILE                            make a key pair for encrypted backups

BACKUPS is a directory, or s3://BUCKET/PREFIX. The server of the bucket, and keys for it, are the settings backup.s3 (--config, --set, or the environment);
without keys, they are those of AWS_ACCESS_KEY_ID, ~/.aws/credentials, or the role of the machine.

A backup that was interrupted is no backup, and harms no other. Exit codes: 0 if the backup is complete, 1 if not, 2 for an invalid command line.
`

// backupFlags of rialto backup.
type backupFlags struct {
	server       apiclient.Config
	data, newKey string
	by           auditFlags
	place        placeFlags
	list         bool
	remove       settings
	recipients   settings
	config       backup.Config
}

func (f *backupFlags) parse(args []string, out, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto backup", flag.ContinueOnError)
	f.server = apiclient.Config{Access: "--role operator", Patience: apiclient.DefaultPatience}
	f.server.AddFlags(fs, "a running server: its listener, or its admin listener")
	f.by.add(fs)
	f.place.add(fs)
	fs.StringVar(&f.data, "data", "", "data `directory` of a server that is stopped")
	fs.StringVar(&f.config.Directory, "to", "", "`directory` of the backups, outside the data directory and on another disk if possible, or s3://BUCKET/PREFIX")
	fs.Var(&f.recipients, "recipient", "encrypt for this public `key` of age (age1…); may be repeated")
	commandline.Int(fs, &f.config.BytesPerSecond, "rate", 0, 1, math.MaxInt, "`bytes` to read a second (default 33554432)")
	fs.BoolVar(&f.list, "list", false, "list the backups")
	fs.Var(&f.remove, "remove", "remove the backup with this `id`; may be repeated")
	fs.StringVar(&f.newKey, "new-key", "", "new `file` for a private key")
	code, ok := parse(fs, backupHelp, args, out, errOut)
	if !ok {
		return code, false
	}
	f.config.Recipients = f.recipients
	err := f.check()
	if err == nil {
		f.config.S3, err = f.place.s3(f.config.Directory)
	}
	if err != nil {
		fmt.Fprintf(errOut, "rialto backup: %v; rialto backup --help shows how\n", err)
		return 2, false
	}
	return 0, true
}

// check finds combinations of flags that mean nothing.
func (f *backupFlags) check() error {
	actions := 0
	for _, is := range []bool{f.server.URL != "", f.data != "", f.list, len(f.remove) > 0, f.newKey != ""} {
		if is {
			actions++
		}
	}
	switch {
	case actions != 1:
		return errors.New("give one of --url, --data, --list, --remove and --new-key")
	case f.server.URL != "" && f.server.Key == "":
		return errors.New("--key is missing")
	case f.server.URL != "" && (f.config.Directory != "" || len(f.recipients) > 0 || f.config.BytesPerSecond != 0):
		return errors.New("where a running server writes its backups, for whom and how fast is among its settings: backup.directory, backup.recipients, backup.bytes_per_second")
	case f.server.URL == "" && f.newKey == "" && f.config.Directory == "":
		return errors.New("--to is missing")
	case f.server.URL != "" && f.by.operator != "":
		return errors.New("the audit log of a running server has the name of the key: --operator is for a server that is stopped")
	case f.config.BytesPerSecond < 0:
		return errors.New("--rate cannot be below zero")
	}
	if wrong := f.by.check(); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

// BackupMain is rialto backup.
func BackupMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	var f backupFlags
	if code, ok := f.parse(args, out, errOut); !ok {
		return code
	}
	if err := f.run(ctx, out, progress.New(errOut)); err != nil {
		fmt.Fprintln(errOut, "rialto backup:", err)
		return 1
	}
	return 0
}

func (f *backupFlags) run(ctx context.Context, out io.Writer, printer *progress.Printer) error {
	switch {
	case f.newKey != "":
		recipient, err := backup.NewKey(f.newKey)
		if err == nil {
			fmt.Fprintf(out, "The private key is in %s. Keep it away from the server: without it, encrypted backups cannot be restored.\nrecipient: %s\n", f.newKey, recipient)
		}
		return err
	case f.list:
		return f.listBackups(ctx, out)
	case len(f.remove) > 0:
		objects, bytes, err := backup.Remove(ctx, f.config, f.remove)
		if err == nil {
			fmt.Fprintf(out, "removed %s, with %s of %.1f MB that no other backup needs\n", printable.Count(len(f.remove), "backup"), printable.Count(objects, "file"), float64(bytes)/1e6)
		}
		return err
	case f.server.URL != "":
		client, err := apiclient.New(f.server)
		if err != nil {
			return err
		}
		b, err := remotebackup.Run(ctx, remotebackup.Options{Server: client, Reason: f.by.reason, Printer: printer})
		if err == nil {
			printBackup(out, b.Directory, &backup.Result{ID: b.Id, Files: int(b.Files), NewFiles: int(b.NewFiles), Bytes: int64(b.Bytes), NewBytes: int64(b.NewBytes)})
		}
		return err
	}
	step := printer.Step("backup")
	defer step.End()
	r, err := f.backupStopped(ctx, func(done, total int64) {
		step.At(float64(done)/float64(max(total, 1)), fmt.Sprintf("%d of %d MB", done/1e6, total/1e6))
	})
	if err == nil {
		step.End()
		printBackup(out, f.config.Directory, r)
	}
	return err
}

func printBackup(out io.Writer, directory string, r *backup.Result) {
	fmt.Fprintf(out, "backup %s is complete in %s: %s of %.1f MB; new: %d of %.1f MB\n", r.ID, directory, printable.Count(r.Files, "file"), float64(r.Bytes)/1e6, r.NewFiles, float64(r.NewBytes)/1e6)
}

func (f *backupFlags) listBackups(ctx context.Context, out io.Writer) error {
	list, err := backup.List(ctx, f.config)
	if err != nil {
		return err
	}
	for _, b := range list {
		if b.Err != nil {
			fmt.Fprintf(out, "%s  cannot be used: %v\n", b.ID, b.Err)
			continue
		}
		encrypted := ""
		if b.Encrypted {
			encrypted = ", encrypted"
		}
		fmt.Fprintf(out, "%s  as of %s, %s of %.1f MB%s\n", b.ID, time.UnixMilli(b.CutMs).UTC().Format(time.RFC3339), printable.Count(b.Files, "file"), float64(b.Bytes)/1e6, encrypted)
	}
	if len(list) == 0 {
		fmt.Fprintf(out, "%s has no complete backup\n", f.config.Directory)
	}
	return nil
}

// backupStopped backs up the directory of a server that is stopped. It opens the stores as a server does, which also finds out whether they are whole.
func (f *backupFlags) backupStopped(ctx context.Context, report backup.Progress) (_ *backup.Result, err error) {
	data := f.data
	if err := move.CheckSource(data); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(data, datadir.MarkerFile)); err != nil {
		return nil, fmt.Errorf("%s is no data directory that a server has used: %w", data, err)
	}
	dir, err := lockDataDir(data)
	if isInUse(err) {
		return nil, fmt.Errorf("a server uses %s: ask it, by rialto backup --url URL --key KEY (it needs the setting backup.directory), or stop it", data)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	source := backup.Source{Dir: data, Version: programVersion()}
	_, err = os.Stat(dir.join(filesDir))
	hasFiles := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if source.Stores, err = datadir.Open(ctx, data, datadir.Options{Logger: slog.New(slog.DiscardHandler), Files: hasFiles}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Stores.Close()) }()
	if hasFiles {
		if source.Files, err = diskblob.Open(dir.join(filesDir)); err != nil {
			return nil, err
		}
	}
	if err := f.by.record(ctx, source.Stores.DB, auditlog.Entry{Action: "backup.start", Subject: "backup in " + f.config.Directory}); err != nil { // it is in the backup
		return nil, err
	}
	return backup.Make(ctx, source, f.config, time.Now(), report)
}

// placeFlags are settings of the server of a bucket with backups.
type placeFlags struct {
	file string
	set  settings
}

func (p *placeFlags) add(fs *flag.FlagSet) {
	fs.StringVar(&p.file, "config", "", "configuration `file` (YAML) with settings backup.s3, for backups in a bucket")
	fs.Var(&p.set, "set", "a setting of backup.s3 as `NAME=VALUE`, such as backup.s3.endpoint=https://host; may be repeated")
}

// s3 returns the server of a place; nothing is read for a directory.
func (p *placeFlags) s3(place string) (backup.S3, error) {
	if !strings.HasPrefix(place, "s3://") {
		if p.file != "" || len(p.set) > 0 {
			return backup.S3{}, errors.New("--config and --set are for backups in a bucket, s3://BUCKET/PREFIX")
		}
		return backup.S3{}, nil
	}
	c, err := config.Load(p.file, os.Environ(), append(slices.Clone(p.set), "backup.directory="+place))
	if err != nil {
		return backup.S3{}, fmt.Errorf("the configuration is invalid: %w", err)
	}
	return c.Backup.S3, nil
}
