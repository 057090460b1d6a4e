package search

import (
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

const (
	imageType    = searchv1.FileType_FILE_TYPE_IMAGE
	videoType    = searchv1.FileType_FILE_TYPE_VIDEO
	audioType    = searchv1.FileType_FILE_TYPE_AUDIO
	documentType = searchv1.FileType_FILE_TYPE_DOCUMENT
	archiveType  = searchv1.FileType_FILE_TYPE_ARCHIVE
	otherType    = searchv1.FileType_FILE_TYPE_OTHER
)

// file of a message. An item of an album has the album's caption.
type file struct {
	media   *chatv1.Media
	kind    searchv1.FileType
	caption string
	voice   bool
}

// name returns the name by which a file is found. Applications give the names of voice messages, not people.
func (f *file) name() string {
	if f.voice {
		return ""
	}
	return f.media.GetName()
}

// files of a message, in their order.
type files []file

// filesOf returns the files of a message, those that it forwards among them.
func filesOf(c *chatv1.Content) (list files) {
	list.addContent(c)
	for _, i := range c.GetForward().GetItems() {
		list.addContent(i.GetContent())
	}
	return list
}

func (l *files) add(m *chatv1.Media, kind searchv1.FileType, caption string) {
	if m != nil {
		*l = append(*l, file{media: m, kind: kind, caption: caption})
	}
}

func (l *files) addContent(c *chatv1.Content) {
	switch k := c.GetKind().(type) {
	case *chatv1.Content_Image:
		l.add(k.Image, imageType, k.Image.GetCaption())
	case *chatv1.Content_Video:
		l.add(k.Video, videoType, k.Video.GetCaption())
	case *chatv1.Content_File:
		l.add(k.File, typeOf(k.File), k.File.GetCaption())
	case *chatv1.Content_Voice:
		*l = append(*l, file{media: k.Voice, kind: audioType, caption: k.Voice.GetCaption(), voice: true})
	case *chatv1.Content_Album:
		for _, i := range k.Album.GetItems() {
			l.add(i.GetImage(), imageType, k.Album.GetCaption())
			l.add(i.GetVideo(), videoType, k.Album.GetCaption())
		}
	}
}

// ofTypes returns the files of some types; all, if there are none.
func (l files) ofTypes(types []searchv1.FileType) files {
	if len(types) == 0 {
		return l
	}
	return slices.DeleteFunc(slices.Clone(l), func(f file) bool { return !slices.Contains(types, f.kind) })
}

// captions returns the captions of some files, that of an album once.
func (l files) captions() (list []string) {
	for i, f := range l {
		if i == 0 || f.caption != l[i-1].caption {
			list = append(list, f.caption)
		}
	}
	return list
}

// text returns what is searched of some files: the names, and then the captions.
func (l files) text() searchText {
	var b textBuilder
	for _, f := range l {
		b.add(f.name(), true)
	}
	for _, caption := range l.captions() {
		b.add(caption, false)
	}
	return b.build()
}

// labels are the types of some files, as the index has them.
func (l files) labels() (list []string) {
	for _, f := range l {
		if label := typeLabel(f.kind); !slices.Contains(list, label) {
			list = append(list, label)
		}
	}
	return list
}

// typeLabel is the label of a type. It is stored.
func typeLabel(t searchv1.FileType) string { return string(rune('0' + t)) }

// typeOf groups a file by its MIME type, or by the extension of its name where that says nothing.
func typeOf(m *chatv1.Media) searchv1.FileType {
	kind, _, err := mime.ParseMediaType(m.GetMimeType())
	if err != nil {
		kind = strings.ToLower(strings.TrimSpace(m.GetMimeType())) // also where a parameter is not valid
	}
	if t := typeOfMIME(kind); t != otherType {
		return t
	}
	if t, ok := typesOfExtensions[strings.ToLower(path.Ext(m.GetName()))]; ok && (kind == "" || kind == "application/octet-stream") {
		return t
	}
	return otherType
}

func typeOfMIME(kind string) searchv1.FileType {
	family, rest, _ := strings.Cut(kind, "/")
	switch family {
	case "image":
		return imageType
	case "video":
		return videoType
	case "audio":
		return audioType
	case "text":
		return documentType
	case "application":
	default:
		return otherType
	}
	if t, ok := typesOfApplications[strings.TrimPrefix(rest, "x-")]; ok {
		return t
	}
	for _, prefix := range []string{"vnd.openxmlformats-officedocument.", "vnd.oasis.opendocument.", "vnd.ms-excel", "vnd.ms-powerpoint", "vnd.ms-word", "vnd.apple."} {
		if strings.HasPrefix(rest, prefix) {
			return documentType
		}
	}
	return otherType
}

// typesOfApplications groups types behind "application/", without "x-".
var typesOfApplications = map[string]searchv1.FileType{
	"pdf": documentType, "msword": documentType, "rtf": documentType, "json": documentType, "xml": documentType, "yaml": documentType, "epub+zip": documentType, "tex": documentType, "latex": documentType,
	"zip": archiveType, "zip-compressed": archiveType, "7z-compressed": archiveType, "rar": archiveType, "rar-compressed": archiveType, "vnd.rar": archiveType, "tar": archiveType, "gtar": archiveType, "gzip": archiveType,
	"bzip": archiveType, "bzip2": archiveType, "xz": archiveType, "zstd": archiveType, "compress": archiveType, "compressed": archiveType, "lzma": archiveType, "java-archive": archiveType, "ogg": audioType,
}

var typesOfExtensions = map[string]searchv1.FileType{
	".jpg": imageType, ".jpeg": imageType, ".png": imageType, ".gif": imageType, ".webp": imageType, ".svg": imageType, ".heic": imageType, ".bmp": imageType, ".tif": imageType, ".tiff": imageType, ".avif": imageType,
	".mp4": videoType, ".mov": videoType, ".mkv": videoType, ".webm": videoType, ".avi": videoType, ".m4v": videoType,
	".mp3": audioType, ".m4a": audioType, ".wav": audioType, ".ogg": audioType, ".opus": audioType, ".flac": audioType, ".aac": audioType, ".amr": audioType,
	".pdf": documentType, ".doc": documentType, ".docx": documentType, ".xls": documentType, ".xlsx": documentType, ".ppt": documentType, ".pptx": documentType, ".odt": documentType, ".ods": documentType, ".odp": documentType,
	".txt": documentType, ".md": documentType, ".csv": documentType, ".rtf": documentType, ".epub": documentType, ".html": documentType, ".json": documentType, ".xml": documentType, ".pages": documentType, ".numbers": documentType, ".key": documentType,
	".zip": archiveType, ".rar": archiveType, ".7z": archiveType, ".tar": archiveType, ".gz": archiveType, ".tgz": archiveType, ".bz2": archiveType, ".xz": archiveType, ".zst": archiveType,
}

// checkFile makes a hit of a message with files, or nil if none of the types that are searched for matches.
func (q *request) checkFile(f *searchindex.Hit, c *chatv1.Content) *searchv1.Hit {
	all := filesOf(c)
	list := all.ofTypes(q.query.types)
	if len(list) == 0 {
		return nil
	}
	best, h := 0, (*searchv1.Hit)(nil)
	for i := range list {
		if h = q.hit(f, list[i:i+1].text()); h != nil {
			best = i
			break
		}
	}
	if h == nil {
		h = q.hit(f, list.text())
	}
	if h != nil {
		h.File = &searchv1.FoundFile{Media: list[best].media, Type: list[best].kind, Others: uint32(len(all) - 1)}
	}
	return h
}
