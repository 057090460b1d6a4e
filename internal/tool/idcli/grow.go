package idcli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/idservice"
)

const growUsage = `Usage: rialto id grow DATABASE DATABASE …

grow adds databases for multi-primary ids. List all databases: the present ones and the new, empty ones. All must be reachable. Servers may
issue ids meanwhile. If the command is interrupted, run it again. Afterwards add the new databases to ids.primaries of each node.
A DATABASE is an address, such as postgres://user@host/name, or an SQLite file.
`

func (c *command) grow(ctx context.Context, args []string) int {
	c.name = "rialto id grow"
	for _, a := range args {
		if a == "help" || a == "-h" || a == "-help" || a == "--help" {
			fmt.Fprint(c.out, growUsage)
			return 0
		}
		if strings.HasPrefix(a, "-") {
			fmt.Fprintf(c.errOut, "%s: unknown flag %q; %s --help shows how\n", c.name, a, c.name)
			return 2
		}
	}
	if len(args) < 2 {
		fmt.Fprint(c.errOut, growUsage)
		return 2
	}
	return c.report(grow(ctx, args, func() { fmt.Fprintf(c.out, "multi-primary ids now use %d databases\n", len(args)) }))
}

func grow(ctx context.Context, addresses []string, done func()) (err error) {
	var stores []idservice.Records
	for _, address := range addresses {
		db, err := sqldb.Open(ctx, address)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		stores = append(stores, db)
	}
	if err := idservice.GrowMultiPrimary(ctx, stores); err != nil {
		return err
	}
	done()
	return nil
}
