package idcli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rialto-im/rialto/internal/idgen"
	"github.com/rialto-im/rialto/internal/sqldb"
)

const growUsage = `Usage: rialto id grow DATABASE DATABASE …

grow adds databases to those of multi-primary ids: it is given all of them, the old ones and the new, empty ones, and all must answer. Ids
are given meanwhile. If it is interrupted, run it again. Afterwards add the new ones to ids.primaries of each node.
A DATABASE is an address as postgres://user@host/name, or a file of SQLite.
`

func (c *command) grow(ctx context.Context, args []string) int {
	c.name = "rialto id grow"
	for _, a := range args {
		if a == "help" || a == "-h" || a == "-help" || a == "--help" {
			fmt.Fprint(c.out, growUsage)
			return 0
		}
		if strings.HasPrefix(a, "-") {
			fmt.Fprintf(c.errOut, "%s: it takes no flag %q; %s --help shows how\n", c.name, a, c.name)
			return 2
		}
	}
	if len(args) < 2 {
		fmt.Fprint(c.errOut, growUsage)
		return 2
	}
	return c.said(grow(ctx, args, func() { fmt.Fprintf(c.out, "%d databases give multi-primary ids\n", len(args)) }))
}

func grow(ctx context.Context, places []string, done func()) (err error) {
	var stores []idgen.Records
	for _, where := range places {
		db, err := sqldb.Open(ctx, where)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		stores = append(stores, db)
	}
	if err := idgen.GrowMultiPrimary(ctx, stores); err != nil {
		return err
	}
	done()
	return nil
}
