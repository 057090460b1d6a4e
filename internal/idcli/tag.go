package idcli

import (
	"context"
	"fmt"
	"text/tabwriter"

	idv1 "github.com/rialto-im/rialto/gen/rialto/id/v1"
)

const tagUsage = `Usage:
  rialto id tag put NAME --scheme NAME [flags]   make a tag, or change its description, step and maximum
  rialto id tag list                             list the tags
  rialto id tag delete NAME                      end a tag; under its name no id ever comes again that was given

A tag is a line of business that has ids of its own, as orders or invoices. rialto id tag put --help shows the flags.
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
	fmt.Fprintf(c.errOut, "rialto id tag: there is no %q.\n\n%s", args[0], tagUsage)
	return 2
}

const putAbout = `put makes a tag, or changes description, step and maximum of one; the rest never changes. A rule makes ids as INV-20261121000042:
--scheme rule --prefix INV- --date YYYYMMDD --digits 6
`

func (c *command) putTag(ctx context.Context, args []string) int {
	fs := c.flags("tag put")
	t, rule := &idv1.Tag{}, &idv1.Rule{}
	fs.StringVar(&t.Scheme, "scheme", "", "`name` of the scheme: segment, sequence, rule …; needed")
	fs.StringVar(&t.Description, "description", "", "what the tag is for, in a `text` of at most 500 characters")
	fs.Uint64Var(&t.Step, "step", 0, "so `many` numbers are taken from the records at once, at least (default 1,000; of sequences 10,000, of rules 100)")
	fs.Uint64Var(&t.Maximum, "maximum", 0, "the last `number`; of a rule, of each day (default 9223372036854775807)")
	fs.Uint64Var(&t.Last, "last", 0, "go on behind this `number`, as after a backup was restored (segment, sequence); it never goes back")
	fs.Uint64Var(&t.SectionKeys, "section-keys", 0, "so `many` keys of a sequence share a bound in the records (default 100,000)")
	fs.StringVar(&rule.Prefix, "prefix", "", "a rule's `prefix`")
	fs.StringVar(&rule.Date, "date", "", "a rule's date: `form` YYYYMMDD, YYYY-MM-DD, YYMMDD or YYDDD; none: the number never begins again")
	fs.StringVar(&rule.Zone, "zone", "", "`zone` whose midnight begins a rule's day, as Europe/Berlin (default UTC)")
	digits := fs.Uint("digits", 0, "how `many` digits a rule's number has, 1 to 18")
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
	if _, code, ok := c.parse(fs, args, "[flags]", "list shows all tags by name; the built-in ones are named as their schemes.\n", 0); !ok {
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
		fmt.Fprintln(w, "NAME\tSCHEME\tSTEP\tLAST TAKEN\tDESCRIPTION")
		for _, t := range all.Tags {
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", t.Name, t.Scheme, t.Step, t.Last, t.Description)
		}
		return w.Flush()
	})
}

func (c *command) deleteTag(ctx context.Context, args []string) int {
	words, code, ok := c.parse(c.flags("tag delete"), args, "NAME [flags]", "delete ends a tag. One that is put again under its name goes on behind what was given.\n", 1)
	if !ok {
		return code
	}
	return c.with(ctx, func(ids IDs) error {
		got, err := ids.DeleteTag(ctx, words[0])
		if err != nil {
			return err
		}
		if !got.Deleted {
			return fmt.Errorf("there is no tag %q; rialto id tag list shows them", words[0])
		}
		fmt.Fprintf(c.out, "the tag %s has ended\n", words[0])
		return nil
	})
}
