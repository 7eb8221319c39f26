package regtest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
)

// Caching is the caching behaviour of successful answers of a [Registry] (RFC 9111). The zero
// value sets no headers. Files always have entity tags.
type Caching struct {
	Control string // Cache-Control header, such as "max-age=60"
	Vary    string // Vary header
	Tags    bool   // documents have entity tags
}

// mark sets the headers of the answer.
func (c Caching) setHeader(a *answer) {
	if a.status/100 != 2 {
		return
	}
	set := func(name, value string) {
		if _, ok := a.header[name]; !ok && value != "" {
			a.header.Set(name, value)
		}
	}
	set("Cache-Control", c.Control)
	set("Vary", c.Vary)
	if c.Tags && a.etag == "" && a.status == http.StatusOK {
		h := sha256.New()
		copyAll(h, a.body, a.size)
		a.etag = fmt.Sprintf(`"%x"`, h.Sum(nil)[:16])
	}
}
