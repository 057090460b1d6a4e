package app

import (
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/platform/backup"
)

// programVersion names the program in backups.
func programVersion() string {
	b := telemetry.ThisBuild()
	return b.Version + " " + b.Short()
}

// openBackups makes the service that backs up the data directory while the node runs.
func (n *Node) openBackups() {
	source := backup.Source{Dir: n.dir.path, Stores: n.stores, Version: programVersion()}
	source.Files, _ = n.files.(*diskblob.Store) // nil where the files are in S3
	n.backups = backup.NewService(source, n.config.Backup, n.clock, n.logger)
	telemetry.Gauge(n.registry, "backup_enabled", "1 if this node makes backups for rialto backup, in backup.directory.", func() float64 {
		if n.backups.Enabled() {
			return 1
		}
		return 0
	})
	telemetry.Gauge(n.registry, "backup_age_seconds", "Since the moment of the newest complete backup of this node's data in backup.directory; +Inf: none is known.", n.backups.Age)
}
