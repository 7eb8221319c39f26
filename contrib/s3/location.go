package s3

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/module"
)

// An object is what a location names.
type object struct {
	endpoint string // scheme and host; empty for Amazon's own
	host     string // of the location
	region   string // empty: not stated
	bucket   string
	key      string // of an object, or of a directory without a slash at its end
	version  string // of the object; empty: the newest
}

// parse reads a location. It returns an error if the location is of another kind, names no
// object, or carries credentials.
func parse(loc *module.Location) (*object, error) {
	if loc.Kind != module.KindS3 {
		return nil, &module.UnsupportedError{Kind: loc.Kind, Getter: loc.Getter}
	}
	u, err := url.Parse(loc.URL)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("location %s is not the URL of an object", loc)
	}
	query := u.Query()
	for name := range query {
		switch name {
		case "region", "version":
		default:
			// Among them are the parameters by which go-getter takes credentials.
			return nil, fmt.Errorf("location %s has the unsupported parameter %.50q; set Fetcher.Credentials instead of credentials in a URL", loc, name)
		}
	}
	o := &object{host: u.Host, region: query.Get("region"), version: query.Get("version")}
	path := strings.Trim(u.Path, "/")
	if !o.amazon(u.Hostname()) {
		o.endpoint = u.Scheme + "://" + u.Host
	}
	if o.bucket == "" {
		o.bucket, path, _ = strings.Cut(path, "/")
	}
	o.key = path
	if o.bucket == "" || o.key == "" {
		return nil, fmt.Errorf("location %s names no object", loc)
	}
	return o, nil
}

// amazon reads the region and the bucket from a host of Amazon's: s3.amazonaws.com,
// s3-REGION or s3.REGION, with or without the bucket before it.
func (o *object) amazon(host string) bool {
	name, ok := strings.CutSuffix(strings.ToLower(host), ".amazonaws.com")
	if !ok {
		return false
	}
	labels := strings.Split(name, ".")
	last := len(labels) - 1
	switch {
	case labels[last] == "s3":
		o.bucket = strings.Join(labels[:last], ".")
	case strings.HasPrefix(labels[last], "s3-"):
		o.region = strings.TrimPrefix(labels[last], "s3-")
		o.bucket = strings.Join(labels[:last], ".")
	case last > 0 && labels[last-1] == "s3":
		o.region = labels[last]
		o.bucket = strings.Join(labels[:last-1], ".")
	default:
		return false
	}
	return true
}
