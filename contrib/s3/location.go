package s3

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tofureg/tofureg/module"
)

// An object is a parsed location.
type object struct {
	url      *url.URL // of the location
	endpoint string   // scheme and host, empty for amazonaws.com
	region   string   // empty if not stated
	bucket   string
	key      string // key of an object, or of a directory without a trailing slash
	version  string // version of the object, empty for the newest
}

// parse parses a location. It returns an error for another kind of location, and for a URL without an
// object or with credentials.
func parse(loc *module.Location) (*object, error) {
	if loc.Kind != module.KindS3 {
		return nil, &module.UnsupportedError{Kind: loc.Kind, Getter: loc.Getter}
	}
	u, err := url.Parse(loc.URL)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("invalid object URL in location %s", loc)
	}
	query := u.Query()
	for name := range query {
		switch name {
		case "region", "version":
		default:
			// go-getter accepts credentials in such parameters.
			return nil, fmt.Errorf("location %s has the unsupported parameter %.50q; set Fetcher.Credentials instead of credentials in a URL", loc, name)
		}
	}
	o := &object{url: u, region: query.Get("region"), version: query.Get("version")}
	path := strings.Trim(u.Path, "/")
	if !o.amazon(u.Hostname()) {
		o.endpoint = u.Scheme + "://" + u.Host
	}
	if o.bucket == "" {
		o.bucket, path, _ = strings.Cut(path, "/")
	}
	o.key = path
	if o.bucket == "" || o.key == "" {
		return nil, fmt.Errorf("missing object in location %s", loc)
	}
	return o, nil
}

// amazon parses the region and the bucket of a host of amazonaws.com: s3, s3-REGION or s3.REGION, with
// or without a preceding bucket. It returns false for another host.
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
