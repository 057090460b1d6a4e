package main

import (
	"encoding/xml"
	"strings"
)

// element is an element of XML: a stanza, or what is in one.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
	Text     string     `xml:",chardata"`
}

// Namespaces of the protocol and of its extensions.
const (
	nsComponent  = "jabber:component:accept"
	nsStream     = "http://etherx.jabber.org/streams"
	nsErrors     = "urn:ietf:params:xml:ns:xmpp-stanzas"
	nsDiscovery  = "http://jabber.org/protocol/disco#info"
	nsRoom       = "http://jabber.org/protocol/muc"
	nsOccupant   = "http://jabber.org/protocol/muc#user"
	nsOccupantID = "urn:xmpp:occupant-id:0"
	nsStanzaID   = "urn:xmpp:sid:0"
	nsArchive    = "urn:xmpp:mam:2"
	nsPages      = "http://jabber.org/protocol/rsm"
	nsForm       = "jabber:x:data"
	nsForward    = "urn:xmpp:forward:0"
	nsDelay      = "urn:xmpp:delay"
	nsCorrection = "urn:xmpp:message-correct:0"
	nsRetraction = "urn:xmpp:message-retract:1"
	nsFasten     = "urn:xmpp:fasten:0"
	nsRetract0   = "urn:xmpp:message-retract:0"
	nsFallback   = "urn:xmpp:fallback:0"
	nsReply      = "urn:xmpp:reply:0"
	nsHints      = "urn:xmpp:hints"
	nsPing       = "urn:xmpp:ping"
)

// newElement makes an element. Attributes are names and values by turns; those without a value are left out.
func newElement(space, name string, attrs ...string) element {
	e := element{XMLName: xml.Name{Space: space, Local: name}}
	for n := 0; n+1 < len(attrs); n += 2 {
		if attrs[n+1] != "" {
			e.Attrs = append(e.Attrs, xml.Attr{Name: xml.Name{Local: attrs[n]}, Value: attrs[n+1]})
		}
	}
	return e
}

// with returns the element with further children.
func (e element) with(children ...element) element {
	e.Children = append(e.Children[:len(e.Children):len(e.Children)], children...)
	return e
}

// withText returns the element with a text.
func (e element) withText(text string) element {
	e.Text = text
	return e
}

// attr returns an attribute without a namespace; empty: there is none.
func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Space == "" && a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// child returns the first child with a name; ok is false if there is none.
func (e element) child(space, name string) (c element, ok bool) {
	for _, c := range e.Children {
		if c.XMLName.Local == name && c.XMLName.Space == space {
			return c, true
		}
	}
	return element{}, false
}

// String returns the element as XML, without a declaration of the namespace of components, which the stream declares.
func (e element) String() string {
	var b strings.Builder
	e.write(&b, nsComponent)
	return b.String()
}

func (e element) write(b *strings.Builder, outer string) {
	b.WriteString("<" + e.XMLName.Local)
	if e.XMLName.Space != outer {
		writeAttr(b, "xmlns", e.XMLName.Space)
	}
	for _, a := range e.Attrs {
		if a.Name.Space == "" && a.Name.Local != "xmlns" {
			writeAttr(b, a.Name.Local, a.Value)
		}
	}
	b.WriteString(">")
	escape(b, e.Text)
	for _, c := range e.Children {
		c.write(b, e.XMLName.Space)
	}
	b.WriteString("</" + e.XMLName.Local + ">")
}

func writeAttr(b *strings.Builder, name, value string) {
	b.WriteString(" " + name + "='")
	escape(b, value)
	b.WriteString("'")
}

// escape writes a text. What XML cannot have becomes U+FFFD.
func escape(b *strings.Builder, text string) { _ = xml.EscapeText(b, []byte(text)) } // a Builder never fails
