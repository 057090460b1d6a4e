package idcli

import (
	"context"
	"fmt"
	"text/tabwriter"

	idv1 "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
)

const tagUsage = `Usage:
  rialto id tag put NAME --scheme NAME [flags]   create a tag, or change its description, step and maximum
  rialto id tag list                             list the tags
  rialto id tag delete NAME                      delete a tag; its ids are never issued again, even by a new tag of that name

A tag has ids of its own, for example for orders or invoices. rialto id tag put --help shows the flags.
`

func (c *command) tag(ctx context.Context, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(c.errOut, tagUsage)
		return 2
	}
	switch args[0] {
	case "put":
		return c.putTag(ctx, args[1:])
	case "list":
		return c.listTags(ctx, args[1:])
	case "delete":
		return c.deleteTag(ctx, args[1:])
	case "help", "-h", "-help", "--help":
		fmt.Fprint(c.out, tagUsage)
		return 0
	}
	fmt.Fprintf(c.errOut, "rialto id tag: there is no command %q.\n\n%s", args[0], tagUsage)
	return 2
}

const putAbout = `put creates a tag, or changes the description, step and maximum of a tag; nothing else can change. A rule describes ids such as
INV-20261121000042: --scheme rule --prefix INV- --date YYYYMMDD --digits 6
`

func (c *command) putTag(ctx context.Context, args []string) int {
	fs := c.flags("tag put")
	t, rule := &idv1.Tag{}, &idv1.Rule{}
	fs.StringVar(&t.Scheme, "scheme", "", "`name` of the scheme: segment, sequence, rule …; required")
	fs.StringVar(&t.Description, "description", "", "purpose of the tag, a `text` of at most 500 characters")
	fs.Uint64Var(&t.Step, "step", 0, "minimum `number` of ids that are reserved in the database at once (default 1,000; for sequences 10,000, for rules 100)")
	fs.Uint64Var(&t.Maximum, "maximum", 0, "the highest `number`; for rules, of each day (default 9223372036854775807)")
	fs.Uint64Var(&t.Last, "last", 0, "continue after this `number`, for example after a backup was restored (segment, sequence); it can only be raised")
	fs.Uint64Var(&t.SectionKeys, "section-keys", 0, "`number` of keys of a sequence that share a bound in the database (default 100,000)")
	fs.StringVar(&rule.Prefix, "prefix", "", "a rule's `prefix`")
	fs.StringVar(&rule.Date, "date", "", "a rule's date `format`: YYYYMMDD, YYYY-MM-DD, YYMMDD or YYDDD; without it, the number never restarts")
	fs.StringVar(&rule.Zone, "zone", "", "time `zone` of a rule's day, such as Europe/Berlin (default UTC)")
	digits := fs.Uint("digits", 0, "`number` of digits of a rule's number, 1 to 18")
	words, code, ok := c.parse(fs, args, "NAME --scheme NAME [flags]", putAbout, 1)
	if !ok {
		return code
	}
	if t.Scheme == "" {
		fmt.Fprintf(c.errOut, "%s: give the tag's --scheme\n", c.name)
		return 2
	}
	t.Name, rule.Digits = words[0], uint32(min(*digits, 1<<31))
	if rule.Prefix != "" || rule.Date != "" || rule.Zone != "" || rule.Digits != 0 {
		t.Rule = rule
	}
	return c.with(ctx, func(ids IDs) error {
		stored, err := ids.PutTag(ctx, t)
		if err == nil {
			fmt.Fprintf(c.out, "the tag %s of the scheme %s is stored\n", stored.Name, stored.Scheme)
		}
		return err
	})
}

func (c *command) listTags(ctx context.Context, args []string) int {
	fs := c.flags("tag list")
	asJSON := fs.Bool("json", false, "print the tags as JSON")
	if _, code, ok := c.parse(fs, args, "[flags]", "list shows all tags by name. Built-in tags have the names of their schemes.\n", 0); !ok {
		return code
	}
	return c.with(ctx, func(ids IDs) error {
		all := &idv1.ListTagsResponse{}
		for page := ""; ; page = all.Next {
			got, err := ids.ListTags(ctx, &idv1.ListTagsRequest{Limit: 200, Page: page})
			if err != nil {
				return err
			}
			all.Tags, all.Next = append(all.Tags, got.Tags...), got.Next
			if all.Next == "" {
				break
			}
		}
		if *asJSON {
			return c.json(all)
		}
		w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tSCHEME\tSTEP\tLAST RESERVED\tDESCRIPTION")
		for _, t := range all.Tags {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", t.Name, t.Scheme, t.Step, t.Last, t.Description)
		}
		return w.Flush()
	})
}

func (c *command) deleteTag(ctx context.Context, args []string) int {
	words, code, ok := c.parse(c.flags("tag delete"), args, "NAME [flags]", "delete deletes a tag. A new tag of the same name continues after its last id.\n", 1)
	if !ok {
		return code
	}
	return c.with(ctx, func(ids IDs) error {
		got, err := ids.DeleteTag(ctx, words[0])
		if err != nil {
			return err
		}
		if !got.Deleted {
			return fmt.Errorf("there is no tag %q; rialto id tag list shows all tags", words[0])
		}
		fmt.Fprintf(c.out, "the tag %s is deleted\n", words[0])
		return nil
	})
}
