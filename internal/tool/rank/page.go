package rank

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"os"
)

//go:embed report.css
var style string

// page writes a report as HTML. It uses no templates: they call methods by their names, so that the linker would keep all exported methods of the whole program, some
// 28 MB.
type page struct {
	out *bufio.Writer
}

// printf writes a text. Arguments that are strings are escaped.
func (p *page) printf(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = html.EscapeString(s)
		}
	}
	fmt.Fprintf(p.out, format, args...) // bufio keeps an error for Flush
}

// write writes the report to a file.
func (r *report) write(name string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p := &page{bufio.NewWriter(f)}
	p.printf("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Offline evaluation of %s</title>\n", r.Name)
	_, _ = p.out.WriteString("<style>\n" + style + "</style>\n")
	p.writeSummary(r)
	p.writeBars("NDCG@20", "NDCG of the orders", r.NDCG())
	p.writeBars("Coverage", "Coverage of the orders", r.Coverage())
	p.printf("<h2>Which posts are opened, and with which estimate</h2>\n<div class=\"plots\">\n")
	p.writeROC(r.ROC())
	for _, c := range r.Calibrations() {
		p.writeCalibration(&c)
	}
	p.printf("</div>\n")
	if why := r.Model.NoConversion; why != "" {
		p.printf("<p>The model does not estimate conversions: %s.</p>\n", why)
	}
	p.writeWeights(r)
	p.printf("</html>\n")
	return p.out.Flush()
}

func (p *page) writeSummary(r *report) {
	e := &r.Evaluation
	p.printf("<h1>Offline evaluation of %s</h1>\n<p>Judged by %s: %d posts in %d lists, %d of them opened.\n", r.Name, r.Data, e.Examples, e.Lists, e.Clicks)
	if ratio := r.Ratio(); ratio != 0 {
		p.printf("The first 20 posts are %.2f times as good as those by popularity.\n", ratio)
	}
	p.printf("The log loss is %.4f, and %.4f with the average alone.</p>\n", e.LogLoss, e.BaseLogLoss)
	p.printf("<table>\n<tr><th>order</th><th>AUC</th><th>NDCG@20</th><th>coverage</th></tr>\n")
	for _, row := range r.Table() {
		p.printf("<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n", row[0], row[1], row[2], row[3])
	}
	p.printf(`</table>
<p>AUC is the probability that a post that was opened comes before one that was not; 0.5 is chance. NDCG@20 is the gain of the first 20 posts of a list, of the best possible one.
Coverage is which part of all posts is in the first quarter of a list, of 20 posts at most. Popularity orders by likes and comments, recency by age.</p>
`)
}

func (p *page) writeBars(title, label string, bars []bar) {
	p.printf("<h2>%s</h2>\n<svg width=\"620\" height=\"80\" role=\"img\" aria-label=\"%s\">", title, label)
	for _, b := range bars {
		p.printf(`<g transform="translate(100,%.1f)"><text x="-8" y="16" text-anchor="end">%s</text><rect class="%s" width="%.1f" height="20"/><text x="%.1f" dx="6" y="15">%.3f</text></g>`,
			b.Y, b.Name, b.Class, b.Width, b.Width, b.Value)
	}
	p.printf("</svg>\n")
}

// axes begins a plot.
func (p *page) axes(label string) {
	p.printf(`<figure><svg width="320" height="310" role="img" aria-label="%s"><g transform="translate(40,10)"><rect class="axis" width="260" height="260"/><line class="even" x1="0" y1="260" x2="260" y2="0"/>`+"\n", label)
}

// caption ends a plot, with the names of its axes.
func (p *page) caption(x, y string) {
	p.printf(`<text x="130" y="290" text-anchor="middle">%s</text><text transform="translate(-12,130) rotate(-90)" text-anchor="middle">%s</text></g></svg>`+"\n<figcaption>", x, y)
}

func (p *page) writeROC(curves []curve) {
	p.axes("ROC curves")
	for _, c := range curves {
		p.printf("<polyline class=\"%s\" points=\"%s\"/>\n", c.Class, c.Points)
	}
	p.caption("part of the posts that were not opened", "part of those that were")
	p.printf("ROC:")
	for _, c := range curves {
		p.printf(` <svg width="10" height="10"><rect class="%s" width="10" height="10"/></svg> %s`, c.Class, c.Name)
	}
	p.printf("</figcaption></figure>\n")
}

func (p *page) writeCalibration(c *calibrationPlot) {
	p.axes("Calibration of " + c.Name)
	p.printf("<polyline class=\"a\" points=\"%s\"/>", c.Line)
	for _, d := range c.Dots {
		p.printf(`<circle class="a" cx="%.1f" cy="%.1f" r="3.5"><title>%s</title></circle>`, d.X, d.Y, d.Label)
	}
	p.printf(`<text x="260" y="275" text-anchor="end">%.2f</text><text x="0" y="275">0</text>`, c.Top)
	p.caption("estimated probability", "observed")
	p.printf("Calibration of %s; mean error %.4f</figcaption></figure>\n", c.Name, c.Error)
}

func (p *page) writeWeights(r *report) {
	p.printf("<h2>What the model has learnt</h2>\n<p>What a feature of 1 adds to the log-odds that a post is opened. It was fitted to %d posts that were shown, %d of them opened.</p>\n",
		r.Model.Click.Examples, r.Model.Click.Positives)
	p.printf(`<svg width="620" height="%d" role="img" aria-label="Weights">`, r.Height())
	for _, w := range r.Weights() {
		class := "negative"
		if w.Positive {
			class = "a"
		}
		p.printf(`<g transform="translate(100,%.1f)"><text x="-8" y="15" text-anchor="end">%s</text><rect class="%s" x="%.1f" width="%.1f" height="18"/><text x="430" y="14">%+.2f</text></g>`,
			w.Y, w.Name, class, w.X, w.Width, w.Click)
	}
	p.printf("</svg>\n")
}
