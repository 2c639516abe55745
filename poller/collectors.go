package poller

// Collectors gives all collectors in the order in which they run: the status comes first, since the
// others compare with it.
func Collectors() []*Collector {
	return []*Collector{
		statusCollector(),
	}
}
