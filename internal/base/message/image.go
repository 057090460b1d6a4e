package message

import chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"

// MaxImageName bounds the characters of an image's name, and of its media type.
const MaxImageName = 255

// StoredImage returns an image as it is stored: without unknown fields.
func StoredImage(m *chatv1.Media) *chatv1.Media {
	return &chatv1.Media{Upload: m.GetUpload(), Name: m.GetName(), MimeType: m.GetMimeType(), Size: m.GetSize(), Width: m.GetWidth(), Height: m.GetHeight(), Caption: m.GetCaption()}
}

// IsImage reports whether an image names an upload and has no caption. It says nothing of the upload.
func IsImage(m *chatv1.Media) bool {
	return m.Upload != 0 && m.Caption == "" && IsText(m.Name, MaxImageName, IsLine) && IsText(m.MimeType, MaxImageName, IsLine)
}
