package linkpreview

// Texts of the preview of a page.
func Texts(body []byte, contentType string) (title, description, site, picture string) {
	m := readMeta(body, contentType)
	return line(m.title, maxTitle), line(m.description, maxDescription), line(m.site, maxSite), m.picture
}
