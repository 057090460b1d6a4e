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
}
