// The bar: a symmetric hash join, one tuple at a time, with its left-deep plan compiled in.
//
// Streams 0..N-1 are joined as ((0 1) 2) ... N-1 over windows of the last `window` rows. A ring holds the
// composites of each prefix, hashed by the attribute that the next stream is joined on. An arriving row is
// inserted into its leaf, meets the prefix before its stream, and each composite that comes of it goes up the
// plan depth first: it is stored, and probes the next leaf.
//
// What makes it quick: entries are contiguous records in rings, chained newest first from a table of heads;
// ids only grow, so nothing is ever unlinked - a chain ends at the first id that has left its ring;
// rows and ids have 32 bits and are compared by difference; the plan, the number of streams and the width of
// every record are template parameters. Ids wrap after 2^31 entries, which no benchmark reaches.

#include <array>
#include <cstdint>
#include <ctime>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using Key = std::int64_t;
using Row = std::uint32_t;

inline bool before(Row a, Row b) { return static_cast<std::int32_t>(a - b) < 0; }

// Records of a key and some rows; ids from `tail` to `head` are kept, each in the chain of its key's bucket.
template <int Rows>
struct Ring {
    struct __attribute__((packed, aligned(4))) Entry {  // a quarter smaller than with an aligned key
        Key key;
        Row next;
        Row rows[Rows];
    };

    std::vector<Entry> entries;
    std::vector<Row> heads;
    Row mask = 0, tail = 0, head = 0;
    int shift = 0;

    explicit Ring(std::size_t least) {
        std::size_t capacity = 16;
        while (capacity < least) capacity *= 2;
        resize(capacity);
    }

    void resize(std::size_t capacity) {
        const std::vector<Entry> old = std::move(entries);
        const Row old_mask = mask;
        entries = std::vector<Entry>(capacity);
        heads.assign(capacity, tail - 1);
        mask = static_cast<Row>(capacity - 1);
        shift = 64 - __builtin_ctzll(capacity);
        for (Row id = tail; id != head; ++id) {
            Entry& e = entries[id & mask] = old[id & old_mask];
            link(e, id);
        }
    }

    Row& bucket(Key key) { return heads[(static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15ull) >> shift]; }

    void link(Entry& e, Row id) {
        Row& first = bucket(e.key);
        e.next = first;
        first = id;
    }

    // A new entry under `key`, its rows still to be written.
    Entry& append(Key key) {
        if (head - tail > mask) resize(2 * entries.size());
        Entry& e = entries[head & mask];
        e.key = key;
        link(e, head++);
        return e;
    }

    // Call `each` on the entries under `key`, newest first, down to the tail. It must not append to this ring.
    template <class Each>
    void find(Key key, Each each) {
        for (Row id = bucket(key); !before(id, tail);) {
            const Entry& e = entries[id & mask];
            if (e.key == key) each(id, e);
            id = e.next;
        }
    }
};

// Which attribute of which stream before `j` is equal to attribute 0 of stream j; `width` attributes a stream.
struct OneKey {  // all streams on one attribute
    static constexpr int stream(int) { return 0; }
    static constexpr int attribute(int) { return 0; }
    static constexpr int width(int) { return 1; }
};
struct Chain {  // 0.1 = 1.0, 1.1 = 2.0, 2.1 = 3.0, ...
    static constexpr int stream(int j) { return j - 1; }
    static constexpr int attribute(int) { return 1; }
    static constexpr int width(int) { return 2; }
};
struct Star {  // 0.0 = 1.0, 0.1 = 2.0, 0.2 = 3.0, ...
    static constexpr int stream(int) { return 0; }
    static constexpr int attribute(int j) { return j - 1; }
    static constexpr int width(int n) { return n - 1; }
};

struct Join {
    virtual ~Join() = default;
    virtual std::int64_t push(const std::int32_t* streams, const Key* const* columns, std::int64_t m) = 0;
};

template <int N, class Plan, class Levels>
class LeftDeep;

// Level j of Levels... = 0..N-3 is the ring of the prefix of streams 0..j+1.
template <int N, class Plan, std::size_t... Levels>
class LeftDeep<N, Plan, std::index_sequence<Levels...>> final : public Join {
    static constexpr bool one_key = std::is_same_v<Plan, OneKey>;
    static constexpr int width = Plan::width(N);

    const Row window_;
    std::vector<Ring<0>> leaves_;           // the id of an entry is its row
    std::vector<std::vector<Key>> values_;  // all attributes of a leaf's rows, in a ring of the same size
    std::tuple<Ring<Levels + 2>...> prefixes_;
    Row low_[N];   // the first live row of each stream
    Row rows_[N];  // the composite that is being built
    Key key_;      // of the row that has arrived; with one key, that of its composites too
    std::int64_t results_ = 0;

    template <int J>
    bool live(const Row* rows) const {
        bool dead = false;
        for (int c = 0; c <= J; ++c) dead |= before(rows[c], low_[c]);
        return !dead;
    }

    // What rows_[0..J] is joined to stream J + 1 on.
    template <int J>
    Key key() const {
        if constexpr (one_key) return key_;
        constexpr int stream = Plan::stream(J + 1);
        return values_[stream][(rows_[stream] & leaves_[stream].mask) * std::size_t{width} + Plan::attribute(J + 1)];
    }

    // rows_[0..J] is a new composite: keep it for later rows of stream J + 1, and join it with the present ones.
    template <int J>
    void extend() {
        if constexpr (J == N - 1) {
            ++results_;
        } else {
            const Key key = this->key<J>();
            if constexpr (J > 0) {
                auto& ring = std::get<J - 1>(prefixes_);
                while (ring.tail != ring.head && !live<J>(ring.entries[ring.tail & ring.mask].rows)) ++ring.tail;
                auto& entry = ring.append(key);
                for (int c = 0; c <= J; ++c) entry.rows[c] = rows_[c];
            }
            leaves_[J + 1].find(key, [this](Row row, const auto&) {
                rows_[J + 1] = row;
                extend<J + 1>();
            });
        }
    }

    template <int S>
    void arrive(const Key* const* columns, std::int64_t i) {
        auto& leaf = leaves_[S];
        const Row row = leaf.head;
        low_[S] = leaf.tail = row + 1 > window_ ? row + 1 - window_ : 0;
        leaf.append(columns[S == 0 ? Plan::attribute(1) : 0][i]);
        if constexpr (!one_key) {
            Key* values = &values_[S][(row & leaf.mask) * std::size_t{width}];
            for (int a = 0; a < width; ++a) values[a] = columns[a][i];
        }
        rows_[S] = row;
        key_ = columns[0][i];
        if constexpr (S == 0) {
            extend<0>();
        } else if constexpr (S == 1) {
            leaves_[0].find(key_, [this](Row other, const auto&) {
                rows_[0] = other;
                extend<1>();
            });
        } else {
            std::get<S - 2>(prefixes_).find(key_, [this](Row, const auto& entry) {
                if (!live<S - 1>(entry.rows)) return;
                for (int c = 0; c < S; ++c) rows_[c] = entry.rows[c];
                extend<S>();
            });
        }
    }

    using Arrive = void (LeftDeep::*)(const Key* const*, std::int64_t);

    template <std::size_t... S>
    static constexpr std::array<Arrive, N> arrivals(std::index_sequence<S...>) {
        return {&LeftDeep::template arrive<S>...};
    }

   public:
    explicit LeftDeep(std::int64_t window)
        : window_(static_cast<Row>(window)),
          leaves_(N, Ring<0>(window)),
          values_(N, std::vector<Key>(leaves_[0].entries.size() * width)),
          prefixes_(Ring<Levels + 2>(2 * window)...),
          low_{} {}

    std::int64_t push(const std::int32_t* streams, const Key* const* columns, std::int64_t m) override {
        static constexpr auto table = arrivals(std::make_index_sequence<N>());
        const std::int64_t earlier = results_;
        for (std::int64_t i = 0; i < m; ++i) (this->*table[streams[i]])(columns, i);
        return results_ - earlier;
    }
};

template <int N>
Join* make(int shape, std::int64_t window) {
    using Levels = std::make_index_sequence<N - 2>;
    if (shape == 0) return new LeftDeep<N, OneKey, Levels>(window);
    if constexpr (N <= 6) {
        if (shape == 1) return new LeftDeep<N, Chain, Levels>(window);
        if (shape == 2) return new LeftDeep<N, Star, Levels>(window);
    }
    return nullptr;
}

}  // namespace

extern "C" {

// A join of `streams` streams: shape 0 on one key, 1 a chain, 2 a star. Null if there is no such plan here.
void* limit_new(int streams, int shape, std::int64_t window) {
    switch (streams) {
        case 2: return make<2>(shape, window);
        case 3: return make<3>(shape, window);
        case 4: return make<4>(shape, window);
        case 5: return make<5>(shape, window);
        case 6: return make<6>(shape, window);
        case 10: return make<10>(shape, window);
        case 20: return make<20>(shape, window);
        default: return nullptr;
    }
}

void limit_free(void* join) { delete static_cast<Join*>(join); }

// Push m events in arrival order; returns the number of results and, through `seconds`, the time it took this
// thread: a machine that is shared does not count against it.
std::int64_t limit_push(void* join, const std::int32_t* streams, const std::int64_t* const* columns, std::int64_t m,
                        double* seconds) {
    timespec start, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    const std::int64_t results = static_cast<Join*>(join)->push(streams, columns, m);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    *seconds = static_cast<double>(end.tv_sec - start.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - start.tv_nsec);
    return results;
}

// Bytes a second that one core reads and writes when it adds two arrays that no cache can hold into a third.
double limit_bandwidth() {
    const std::size_t n = 1 << 24;
    std::vector<double> a(n, 1.0), b(n, 2.0), c(n, 0.0);
    double best = 0.0;
    for (int turn = 0; turn < 5; ++turn) {
        timespec start, end;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
        for (std::size_t i = 0; i < n; ++i) c[i] = a[i] + 3.0 * b[i];
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        a[turn] = c[n - 1 - turn];  // so that no turn can be left out
        const double seconds =
            static_cast<double>(end.tv_sec - start.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - start.tv_nsec);
        const double rate = 3.0 * sizeof(double) * static_cast<double>(n) / seconds;
        best = rate > best ? rate : best;
    }
    return best;
}
}
