package regtest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A Part is an answer to a range request.
type Part int

// The answers to range requests. Only the first two are valid.
const (
	RightPart     Part = iota // 206 and the part
	Whole                     // 200 and the whole file
	Overlap                   // 206 and a part that starts up to 1000 bytes too early
	Gap                       // 206 and a part that starts up to 1000 bytes too late
	OtherTotal                // 206 and the part, with a total size that is one byte too large
	Multipart                 // 206 and the part in a multipart/byteranges document
	Unlabelled                // 206 and the part, without Content-Range
	Unsatisfiable             // 416, as if the file were shorter
)

// partShift is the error of the start of a part in bytes.
const partShift = 1000

// falsify turns a valid partial answer into p.
func (p Part) falsify(w *wire, a *answer) {
	label := w.header.Get("Content-Range")
	var first, last, total int64
	if n, _ := fmt.Sscanf(label, "bytes %d-%d/%d", &first, &last, &total); w.status != http.StatusPartialContent || n != 3 {
		return
	}
	switch p {
	case Overlap:
		w.part(a, max(first-partShift, 0), last, total)
	case Gap:
		w.part(a, min(first+partShift, last), last, total)
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
