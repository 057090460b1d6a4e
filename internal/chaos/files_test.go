package chaos_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/chaos"
)

// upload is a file that was sent, or tried to be.
func (p *tape) upload(id, sum string, how chaos.Type) {
	e := p.begin(chaos.Event{F: chaos.FUpload, User: alice, Text: sum, N: 7})
	e.ID = id
	p.end(e, how)
}

// fetch is a reading of it.
func (p *tape) fetch(f, id, sum string, how chaos.Type) {
	e := p.begin(chaos.Event{F: f, User: alice, ID: id, Node: "n2"})
	e.Text = sum
	p.end(e, how)
}

func TestFiles(t *testing.T) {
	for _, c := range []struct {
		name  string
		state string
		with  func(p *tape)
	}{
		{"none", chaos.NotChecked, func(*tape) {}},
		{"all are there", chaos.Holds, func(p *tape) {
			p.upload("1", "aa", chaos.Ok)
			p.upload("2", "bb", chaos.Info)
			p.fetch(chaos.FDownload, "1", "", chaos.Info)
			p.fetch(chaos.FDownload, "1", "aa", chaos.Ok)
			p.fetch(chaos.FFile, "1", "", chaos.Info)
			p.fetch(chaos.FFile, "1", "aa", chaos.Ok)
		}},
		{"refused, and nothing was wrong with it", chaos.Violated, func(p *tape) { p.upload("1", "aa", chaos.Fail) }},
		{"complete, and not found", chaos.Violated, func(p *tape) {
			p.upload("1", "aa", chaos.Ok)
			p.fetch(chaos.FDownload, "1", "", chaos.Fail)
			p.fetch(chaos.FFile, "1", "aa", chaos.Ok)
		}},
		{"other bytes", chaos.Violated, func(p *tape) {
			p.upload("1", "aa", chaos.Ok)
			p.fetch(chaos.FDownload, "1", "bb", chaos.Ok)
			p.fetch(chaos.FFile, "1", "aa", chaos.Ok)
		}},
		{"not to be read in the end", chaos.Violated, func(p *tape) {
			p.upload("1", "aa", chaos.Ok)
			p.fetch(chaos.FDownload, "1", "aa", chaos.Ok)
		}},
	} {
		p := good()
		c.with(p)
		if v := verdicts(p)["INV15"]; v.State != c.state {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}
