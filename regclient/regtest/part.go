package regtest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A Part is an answer to a request for a part of a file, such as a client makes to
// take up a download that broke off.
type Part int

// The answers to a request for a part. All but the first two are wrong.
const (
	RightPart     Part = iota // 206 and the part
	Whole                     // 200 and all of the file, as servers send it that know no parts
	Overlap                   // 206 and a part that starts up to 1000 bytes too early
	Gap                       // 206 and a part that starts up to 1000 bytes too late
	OtherTotal                // 206 and the part, as one of a file that is a byte longer
	Multipart                 // 206 and the part, as the only one of a multipart/byteranges document
	Unlabelled                // 206 and the part, without saying which it is
	Unsatisfiable             // 416, as if the file ended before
)

// astray is by how many bytes a part starts too early or too late.
const astray = 1000

// spoil makes an answer that is the right part a wrong one.
func (p Part) spoil(w *wire, a *answer) {
	label := w.header.Get("Content-Range")
	var first, last, total int64
	if n, _ := fmt.Sscanf(label, "bytes %d-%d/%d", &first, &last, &total); w.status != http.StatusPartialContent || n != 3 {
		return
	}
	switch p {
	case Overlap:
		w.part(a, max(first-astray, 0), last, total)
	case Gap:
		w.part(a, min(first+astray, last), last, total)
	case OtherTotal:
		w.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, total+1))
	case Multipart:
		const boundary = "a-part-of-the-file"
		head := fmt.Sprintf("--%s\r\nContent-Type: %s\r\nContent-Range: %s\r\n\r\n", boundary, w.header.Get("Content-Type"), label)
		tail := "\r\n--" + boundary + "--\r\n"
		w.body = io.MultiReader(strings.NewReader(head), w.body, strings.NewReader(tail))
		w.size += int64(len(head) + len(tail))
		w.header.Set("Content-Type", "multipart/byteranges; boundary="+boundary)
		w.header.Del("Content-Range")
	case Unlabelled:
		w.header.Del("Content-Range")
	case Unsatisfiable:
		w.status = http.StatusRequestedRangeNotSatisfiable
		w.header.Set("Content-Range", fmt.Sprintf("bytes */%d", total))
		w.body, w.size = strings.NewReader(""), 0
	}
}

// part makes the bytes first to last the body.
func (w *wire) part(a *answer, first, last, total int64) {
	w.body, w.size = io.NewSectionReader(a.body, first, last-first+1), last-first+1
	w.header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, total))
}
