package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/bridges/bridge"
)

const (
	// pageSize is how many messages of an archive are asked for at once.
	pageSize = 100
	// maxSearched is how many pages are searched, in one attempt to deliver a message, for those that an earlier process has sent.
	maxSearched = 50
	// clockSkew is how much later the clock of the server may be than that of Rialto.
	clockSkew = 10 * time.Minute
)

// errNoArchive says that the bridge may not read the archive.
var errNoArchive = errors.New("the archive cannot be read")

// errNotInArchive says that the archive does not have the message from which it was asked to go on.
var errNotInArchive = errors.New("the archive does not have the message")

// errSearching says that nothing may be sent to a room yet: an earlier process may have sent it, and the archive has more messages than one attempt searches.
var errSearching = errors.New("the archive of the room is still being searched for what has arrived already")

// archived is a message of an archive.
type archived struct {
	id      string
	stamp   time.Time
	message element
}

// query is a page of an archive: after a message, or from a time, or the last one.
type query struct {
	after string
	start time.Time
	last  bool
}

// handleArchived adds a message of an archive to its page. It reports whether e is one.
func (x *client) handleArchived(room string, e element) bool {
	result, ok := e.child(nsArchive, "result")
	if !ok {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if q, ok := x.requests[result.attr("queryid")]; ok && q.to == room && len(*q.page) <= pageSize {
		*q.page = append(*q.page, result)
	}
	return true
}

// page asks for a page of a room's archive, oldest first (XEP-0313).
func (x *client) page(ctx context.Context, r *room, q query) (list []archived, complete bool, err error) {
	form := newElement(nsForm, "x", "type", "submit").with(field("FORM_TYPE", nsArchive))
	if !q.start.IsZero() {
		form = form.with(field("start", q.start.UTC().Format(time.RFC3339)))
	}
	pages := newElement(nsPages, "set").with(newElement(nsPages, "max").withText(strconv.Itoa(pageSize)))
	if q.after != "" {
		pages = pages.with(newElement(nsPages, "after").withText(q.after))
	}
	if q.last {
		pages = pages.with(newElement(nsPages, "before"))
	}
	answer, results, err := x.ask(ctx, "set", r.address, newElement(nsArchive, "query").with(form, pages))
	if err != nil {
		return nil, false, err
	}
	if answer.attr("type") == "error" {
		condition, text := errorOf(answer)
		if condition == "item-not-found" && q.after != "" {
			return nil, false, errNotInArchive
		}
		if slices.Contains([]string{"forbidden", "not-authorized", "not-allowed", "feature-not-implemented", "service-unavailable"}, condition) {
			return nil, false, errNoArchive
		}
		return nil, false, fmt.Errorf("the archive of %s cannot be read: %s %s", r.address, condition, text)
	}
	for _, result := range results {
		forwarded, _ := result.child(nsForward, "forwarded")
		at := slices.IndexFunc(forwarded.Children, func(c element) bool { return c.XMLName.Local == "message" })
		if at < 0 {
			continue
		}
		list = append(list, archived{id: bounded(result.attr("id")), stamp: stampOf(forwarded), message: forwarded.Children[at]})
	}
	fin, _ := answer.child(nsArchive, "fin")
	return list, fin.attr("complete") == "true" || len(list) == 0, nil
}

func field(name, value string) element {
	return newElement(nsForm, "field", "var", name).with(newElement(nsForm, "value").withText(value))
}

// catchUp reads what was written in a room since the bridge has read it last, and then what has come meanwhile.
func (x *client) catchUp(ctx context.Context, r *room) error {
	if r.archive {
		err := x.learn(ctx, r)
		if err != nil && !errors.Is(err, errNoArchive) {
			return err
		}
		if r.archive = err == nil; !r.archive {
			x.logger.Warn("what is written in a room while the bridge is away is lost: the bridge may not read its archive", "room", r.address)
		}
	} else if _, _, err := x.ask(ctx, "get", r.address, newElement(nsDiscovery, "query")); err != nil { // the answer comes behind the history
		return err
	}
	for {
		if r.archive {
			if err := x.readArchive(ctx, r); err != nil {
				return err
			}
		}
		if done, err := x.readWaiting(r); done || err != nil {
			return err
		}
	}
}

// learn gets to know the last messages, which corrections and retractions may name. Of a new link, they are the last ones that are not carried.
func (x *client) learn(ctx context.Context, r *room) error {
	list, _, err := x.page(ctx, r, query{last: true})
	r.readMu.Lock()
	defer r.readMu.Unlock()
	for _, a := range list {
		author, _ := x.authorOf(r, a.message, true)
		if _, corrects := a.message.child(nsCorrection, "replace"); !corrects {
			r.known.add(author, a.message.attr("id"), a.id)
		}
	}
	if _, before := x.checkpoints.of(r.address, r.link.Created); err == nil && !before && r.link.Pending {
		first := checkpoint{Since: r.link.Created, Time: r.link.Created}
		if len(list) > 0 {
			first.ID, first.Time = list[len(list)-1].id, list[len(list)-1].stamp
		}
		x.checkpoints.set(r.address, first)
	}
	return err
}

// readArchive reads what the archive has behind the checkpoint.
func (x *client) readArchive(ctx context.Context, r *room) error {
	last, _ := x.checkpoints.of(r.address, r.link.Created)
	q := query{after: last.ID}
	if q.after == "" {
		q.start = last.Time
	}
	for {
		list, complete, err := x.page(ctx, r, q)
		if errors.Is(err, errNotInArchive) { // it was removed for its age
			q = query{start: last.Time}
			continue
		}
		if err != nil {
			return err
		}
		r.readMu.Lock()
		for _, a := range list {
			if !x.store(r, a.message, a.id, a.stamp) {
				err = errors.New("a message of " + r.address + " could not be stored")
				break
			}
			q.after = a.id
		}
		r.readMu.Unlock()
		if err != nil || complete {
			return err
		}
	}
}

// readWaiting reads what has come while the archive was read, and lets further messages be read when they come. It returns false if the archive has to be read again.
func (x *client) readWaiting(r *room) (done bool, err error) {
	r.readMu.Lock()
	defer r.readMu.Unlock()
	waiting, overflow := r.waiting, r.overflow
	r.waiting, r.overflow = nil, false
	if overflow && r.archive {
		return false, nil
	}
	for _, e := range waiting {
		if !x.store(r, e, "", stampOf(e)) {
			return false, errors.New("a message of " + r.address + " could not be stored")
		}
	}
	r.ready = true
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rooms[r.address] != r {
		return false, bridge.ErrDisconnected
	}
	r.entered = true
	return true, nil
}

// search notes which messages of the bridge the archive has, from a time on. It returns errSearching after maxSearched pages, and goes on where it stopped when it is called again.
func (x *client) search(ctx context.Context, r *room, from time.Time) error {
	x.mu.Lock()
	q := query{start: from.Add(-clockSkew), after: r.searchedTo}
	x.mu.Unlock()
	for range maxSearched {
		list, complete, err := x.page(ctx, r, q)
		if errors.Is(err, errNotInArchive) { // it was removed for its age
			q.after = ""
			continue
		}
		if err != nil {
			return err
		}
		x.mu.Lock()
		for _, a := range list {
			if own := x.ownID(a.message); own != "" {
				r.delivered[own] = a.id
			}
			q.after = a.id
		}
		r.searchedTo, r.searched = q.after, complete
		x.mu.Unlock()
		if complete {
			return nil
		}
	}
	return errSearching
}
