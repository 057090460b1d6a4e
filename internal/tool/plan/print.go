package plan

import (
	"fmt"
	"io"
	"strings"
)

// print prints a plan as a table that fits a terminal, with the formula below each line.
func (p *Plan) print(out io.Writer) {
	in := p.Input
	machines := func(low, high int) string { return between(number(float64(low)), number(float64(high))) }
	fmt.Fprintf(out, "%s daily users, %s engines: %s %s", number(in.DailyUsers), p.Engine, machines(p.Low.Nodes, p.Nodes), map[bool]string{true: "node", false: "nodes"}[p.Nodes == 1])
	if p.PostgresNodes > 0 {
		fmt.Fprintf(out, ", %s of PostgreSQL", machines(p.Low.PostgresNodes, p.PostgresNodes))
	}
	if p.CassandraNodes > 0 {
		fmt.Fprintf(out, ", %s of Cassandra", machines(p.Low.CassandraNodes, p.CassandraNodes))
	}
	fmt.Fprintf(out, "; %s of timelines and SQL data in all copies, %sB of files\n", between(number(p.Low.StoredBytes)+"B", number(p.StoredBytes)+"B"), number(p.FileBytes))
	fmt.Fprintf(out, "A node has %s cores, %sB of memory, %sbit/s; %s of them may be used at the peak.\n", number(in.Cores), number(in.Memory), number(in.Network), percent(in.Use))
	section := ""
	for _, l := range p.Lines {
		if l.Section != section {
			section = l.Section
			fmt.Fprintf(out, "\n%s\n", section)
		}
		amount := number(l.Amount)
		switch {
		case l.Unit == "B" || l.Unit == "bit/s":
			if l.Amount < 1e6 {
				amount += " "
			}
			amount += l.Unit
		case strings.HasPrefix(l.Unit, "/"):
			amount += l.Unit
		case l.Unit != "":
			amount += " " + l.Unit
		}
		fmt.Fprintf(out, "  %-28s %14s   %s\n", l.Name, amount, l.How)
	}
	if len(p.Warnings) > 0 {
		fmt.Fprintf(out, "\nWatch out\n")
		for _, w := range p.Warnings {
			fmt.Fprintf(out, "  - %s\n", w)
		}
	}
	fmt.Fprintf(out, "\nAssumed, not measured\n")
	for _, f := range p.Figures {
		if why, ok := strings.CutPrefix(f.From, assumed); ok && f.counts(p.Engine) && f.concerns(in) {
			fmt.Fprintf(out, "  %-28s %14s   %s; %s\n", f.Name, strings.TrimSpace(number(f.Value)+" "+f.Unit), f.What, why)
		}
	}
	fmt.Fprint(out, "\nThe other figures were measured on a small machine. rialto plan --figures shows where; --measured and --figure replace them by yours. Totals with two numbers are by both ends of the ranges that were measured; all else is by the higher end. What was measured once, or assumed, has no range.\n")
}

// between writes a range, or one amount if both ends are the same.
func between(low, high string) string {
	if low == high {
		return high
	}
	return low + " to " + high
}

func printFigures(out io.Writer, figures []Figure) {
	for _, f := range figures {
		fmt.Fprintf(out, "%-24s %9s %-14s %s\n%51s%s\n", f.Name, number(f.Value), f.Unit, f.What, "", f.From)
	}
}
