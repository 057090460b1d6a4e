// Package interchangefile reads and writes the interchange format (docs/formats/interchange.md): a directory with users, conversations, messages and files
// of any chat server. rialto export writes it, and rialto import loads it. Exports of other servers are converted to it first.
//
// Memory is bounded: lists of users and conversations are read line by line, and messages are sorted on disk. Values are for one goroutine.
package interchangefile

import (
	"errors"
	"fmt"
)

// Version of the format. A reader refuses a greater one.
const Version = 3

// Names of the files in the directory.
const (
	manifestFile      = "manifest.json"
	usersFile         = "users.jsonl"
	relationsFile     = "relations.jsonl"
	videosFile        = "videos.jsonl"
	postsFile         = "posts.jsonl"
	commentsFile      = "comments.jsonl"
	likesFile         = "likes.jsonl"
	conversationsFile = "conversations.jsonl"
	entriesFile       = "messages.jsonl"
	filesFile         = "files.jsonl"
	skippedFile       = "skipped.jsonl"
	filesDir          = "files"
)

// User of the source.
type User struct {
	ID     string `json:"id"`
	Handle string `json:"handle,omitempty"`
	Name   string `json:"name,omitempty"`
	Bio    string `json:"bio,omitempty"`
	// Avatar is the path of a file in the directory.
	Avatar string `json:"avatar,omitempty"`
	// Settings that the user has chosen; nil: none. They are in the format since version 3.
	Settings *Settings `json:"settings,omitempty"`
}

// Relation is what a user has set about another. Both relations of a friendship say so. It is in the format since version 2.
type Relation struct {
	Owner string `json:"owner"`
	Other string `json:"other"`
	// Friend: the two are friends. Requested: the owner has asked for it. Asked: the other has.
	Friend    bool `json:"friend,omitempty"`
	Requested bool `json:"requested,omitempty"`
	Asked     bool `json:"asked,omitempty"`
	Blocked   bool `json:"blocked,omitempty"`
	Following bool `json:"following,omitempty"`
	// Muted: the owner's home timeline does not show the other's posts.
	Muted bool `json:"muted,omitempty"`
	// Remark is the owner's name for the other, and Message that of the request.
	Remark  string `json:"remark,omitempty"`
	Message string `json:"message,omitempty"`
}

// Kinds of conversations.
const (
	Direct  = "direct"
	Group   = "group"
	Channel = "channel" // only the owner and admins post
	Thread  = "thread"
)

// Conversation of the source.
type Conversation struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Title string `json:"title,omitempty"`
	// Owner of a group, or who started a thread; the first of the two of a one-to-one conversation.
	Owner string `json:"owner"`
	// Members from the beginning, besides the owner.
	Members []string `json:"members,omitempty"`
	// JoinPolicy is invite, open or approval; "" is invite.
	JoinPolicy string `json:"join_policy,omitempty"`
	CreatedMs  int64  `json:"created_ms"`
	// Parent and Root of a thread: the conversation, and the id of the message.
	Parent string `json:"parent,omitempty"`
	Root   string `json:"root,omitempty"`
	// Entries and Messages count its lines in messages.jsonl, and those of them that are messages. The writer sets them.
	Entries  int64 `json:"entries"`
	Messages int64 `json:"messages"`
}

// Kinds of entries. Those of messages come first, then those that change a message, then those that change a conversation.
const (
	Text     = "text"
	Image    = "image"
	File     = "file"
	Voice    = "voice"
	Video    = "video"
	Album    = "album"
	Place    = "location"
	Contact  = "card"
	Custom   = "custom"
	Signal   = "signal"
	Recalled = "recalled" // a message without content

	Edit        = "edit"
	Recall      = "recall"
	Reaction    = "reaction"
	Pin         = "pin"
	ThreadStart = "thread"

	Joined      = "joined"
	Left        = "left"
	Removed     = "removed"
	Role        = "role"
	Renamed     = "renamed"
	Announced   = "announced"
	Muted       = "muted"
	Transferred = "transferred"
	Dissolved   = "dissolved"
	JoinPolicy  = "join_policy"
	Retention   = "retention"
	Banned      = "banned"
	Unbanned    = "unbanned"
	Picture     = "picture"
)

// Entry is a message, or a change of one or of the conversation. Lines are in the order of conversations, and in each of them in that of times.
type Entry struct {
	Conversation string `json:"conversation"`
	// ID is unique in the conversation, at most 128 bytes.
	ID     string `json:"id"`
	TimeMs int64  `json:"time_ms"`
	// Sender is a user, or "" for the system.
	Sender string `json:"sender,omitempty"`
	Kind   string `json:"kind"`
	// Target is the id of the message that this one answers or changes.
	Target string `json:"target,omitempty"`
	// Text of a message or an edit, caption of an album, title, or announcement.
	Text     string    `json:"text,omitempty"`
	Mentions []Mention `json:"mentions,omitempty"`
	// Files of an image, a file, a voice message, a video or an album; of a picture of the group its one file.
	Files    []Attachment `json:"files,omitempty"`
	Location *Location    `json:"location,omitempty"`
	Card     *Card        `json:"card,omitempty"`
	Data     *Data        `json:"data,omitempty"`
	// Emoji of a reaction.
	Emoji string `json:"emoji,omitempty"`
	// Remove: a reaction or a pin is taken back.
	Remove bool     `json:"remove,omitempty"`
	Users  []string `json:"users,omitempty"`
	// Role is member or admin.
	Role       string `json:"role,omitempty"`
	UntilMs    int64  `json:"until_ms,omitempty"`
	JoinPolicy string `json:"join_policy,omitempty"`
	Seconds    uint32 `json:"seconds,omitempty"`
}

// Mention in a text or a caption: a part of it, in characters. It has one of User, Admins and Everybody.
type Mention struct {
	Start     uint32 `json:"start"`
	Length    uint32 `json:"length"`
	User      string `json:"user,omitempty"`
	Admins    bool   `json:"admins,omitempty"`
	Everybody bool   `json:"everybody,omitempty"`
}

// Attachment is a file of a message.
type Attachment struct {
	// Kind in an album: image or video.
	Kind string `json:"kind,omitempty"`
	// Path of the file in the directory.
	Path       string `json:"path"`
	Name       string `json:"name,omitempty"`
	MimeType   string `json:"mime_type,omitempty"`
	Size       uint64 `json:"size,omitempty"`
	Width      uint32 `json:"width,omitempty"`
	Height     uint32 `json:"height,omitempty"`
	DurationMs uint32 `json:"duration_ms,omitempty"`
	Caption    string `json:"caption,omitempty"`
	Waveform   []byte `json:"waveform,omitempty"`
	// Poster of a video is the path of another file.
	Poster string `json:"poster,omitempty"`
}

// Location is a place on the earth.
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Label     string  `json:"label,omitempty"`
	Address   string  `json:"address,omitempty"`
	Accuracy  float64 `json:"accuracy,omitempty"`
}

// Card refers to a link or a user, or to nothing.
type Card struct {
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
	URL   string `json:"url,omitempty"`
	User  string `json:"user,omitempty"`
}

// Data of a custom message or a signal.
type Data struct {
	Type     string `json:"type"`
	Data     []byte `json:"data,omitempty"`
	Fallback string `json:"fallback,omitempty"`
}

// IsMessage reports whether an entry is shown as a message of its own. Signals are not.
func (e *Entry) IsMessage() bool {
	switch e.Kind {
	case Text, Image, File, Voice, Video, Album, Place, Contact, Custom, Recalled:
		return true
	}
	return false
}

// StoredFile is a line of files.jsonl.
type StoredFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Sha256 string `json:"sha256"`
}

// Skipped is something of the source that is not in the directory, and why.
type Skipped struct {
	// Kind is user, video, post, comment, like, conversation, membership, message, reaction or file.
	Kind string `json:"kind"`
	// Where it was, such as channels.json or posts.jsonl:17, and its id.
	Where  string `json:"where"`
	Reason string `json:"reason"`
}

// Counts of what is in the directory, or was in the source.
type Counts struct {
	Users     int64 `json:"users"`
	Relations int64 `json:"relations,omitempty"`
	Videos    int64 `json:"videos,omitempty"`
	// Posts counts versions of posts.
	Posts         int64 `json:"posts,omitempty"`
	Comments      int64 `json:"comments,omitempty"`
	Likes         int64 `json:"likes,omitempty"`
	Conversations int64 `json:"conversations"`
	Memberships   int64 `json:"memberships"`
	Entries       int64 `json:"entries"`
	Messages      int64 `json:"messages"`
	Reactions     int64 `json:"reactions"`
	// Attachments are the files of messages; Files are those in the folder.
	Attachments int64 `json:"attachments"`
	Files       int64 `json:"files"`
}

// Part is a file of lines, as the manifest describes it.
type Part struct {
	Name   string `json:"name"`
	Lines  int64  `json:"lines"`
	Size   int64  `json:"size"`
	Sha256 string `json:"sha256"`
}

// Manifest is written last: a directory without one is not complete.
type Manifest struct {
	Version   int    `json:"version"`
	Source    string `json:"source"`
	CreatedMs int64  `json:"created_ms"`
	Counts    Counts `json:"counts"`
	// Skipped counts the lines of skipped.jsonl by kind.
	Skipped map[string]int64 `json:"skipped"`
	Parts   []Part           `json:"parts"`
}

// ErrNoManifest is returned for a directory that is not complete, or not in this format.
var ErrNoManifest = errors.New("it has no manifest.json: the directory does not exist, is not complete, or is not in the interchange format")

// LineError says which line of which file cannot be read.
type LineError struct {
	File string
	Line int64
	Err  error
}

// Error names the place.
func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }
