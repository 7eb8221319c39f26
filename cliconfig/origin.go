package cliconfig

import (
	"maps"
	"slices"
	"strconv"
)

// An Origin says where a setting comes from. It never contains a value.
type Origin struct {
	// Setting is the name in a configuration file, with the label if it has one, as
	// in `credentials "example.com"`, or "registry_protocols.retry_count".
	Setting string `json:"setting"`
	Place          // where the value stands that counts

	// Overridden are other places where the setting stands, in the order in which
	// they are read, and which do not count. A setting that can only be switched on
	// is listed with the place that was read last.
	Overridden []Place `json:"overridden,omitempty"`
}

// String returns the setting and its places in one line.
func (o Origin) String() string {
	s := o.Setting + ": " + o.Place.String()
	for i, p := range o.Overridden {
		s += map[bool]string{true: " (overrides ", false: ", "}[i == 0] + p.String()
	}
	if len(o.Overridden) > 0 {
		s += ")"
	}
	return s
}

// setting returns the name of a setting with a label.
func setting(name, label string) string { return name + " " + strconv.Quote(label) }

// origin notes that a setting stands at a place, which overrides those before. It
// returns in how many places the setting stands by now.
func (s *settings) origin(setting string, at Place) int {
	o := s.origins[setting]
	if o == nil {
		o = &Origin{Setting: setting}
		s.origins[setting] = o
	} else {
		o.Overridden = append(o.Overridden, o.Place)
	}
	o.Place = at
	return len(o.Overridden) + 1
}

// Origins returns where each setting comes from that is not left at its default, sorted
// by their names. What a credentials helper knows is not among them.
func (c *Config) Origins() []Origin {
	list := make([]Origin, 0, len(c.settings().origins))
	for _, name := range slices.Sorted(maps.Keys(c.settings().origins)) {
		o := *c.settings().origins[name]
		o.Overridden = slices.Clone(o.Overridden)
		list = append(list, o)
	}
	return list
}
