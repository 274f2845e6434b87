// The join of limit.cpp over windows of time, with results: left-deep, one tuple at a time, its plan compiled in.
//
// A row that arrives at `now` joins with rows whose times are at least now - window. Events come in the order of
// time, so the rows that leave their windows are found by one pointer that follows the events. Each result is
// written as one record of the `id` of every stream.

#include "../limit.cpp"

#include <memory>

namespace {

struct Timed {
    virtual ~Timed() = default;
    virtual void run(const std::int64_t* times, const std::int32_t* streams, const Key* const* columns,
                     const Key* const* ids, std::int64_t m) = 0;
    virtual std::int64_t results() const = 0;
    virtual void copy(std::int64_t* out) const = 0;
};

template <int N, class Plan, class Levels>
class TimedJoin;

template <int N, class Plan, std::size_t... Levels>
class TimedJoin<N, Plan, std::index_sequence<Levels...>> final : public Timed {
    static constexpr bool one_key = std::is_same_v<Plan, OneKey>;
    static constexpr int width = Plan::width(N);
    static constexpr std::size_t block = 1 << 16;
    using Record = std::array<Key, N>;

    const std::int64_t window_;
    std::vector<Ring<0>> leaves_;
    std::vector<std::vector<Key>> values_;
    std::tuple<Ring<Levels + 2>...> prefixes_;
    Row low_[N];
    Row rows_[N];
    Key key_;
    const Key* const* ids_ = nullptr;
    std::vector<std::unique_ptr<Record[]>> blocks_;
    std::size_t last_ = block;  // records in the last block

    template <int J>
    bool live(const Row* rows) const {
        bool dead = false;
        for (int c = 0; c <= J; ++c) dead |= before(rows[c], low_[c]);
        return !dead;
    }

    template <int J>
    Key key() const {
        if constexpr (one_key) return key_;
        constexpr int stream = Plan::stream(J + 1);
        return values_[stream][(rows_[stream] & leaves_[stream].mask) * std::size_t{width} + Plan::attribute(J + 1)];
    }

    void emit() {
        if (last_ == block) {
            blocks_.emplace_back(new Record[block]);  // not set to zero
            last_ = 0;
        }
        Record& record = blocks_.back()[last_++];
        for (int c = 0; c < N; ++c) record[c] = ids_[c][rows_[c]];
    }

    template <int J>
    void extend() {
        if constexpr (J == N - 1) {
            emit();
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

    using Arrive = void (TimedJoin::*)(const Key* const*, std::int64_t);

    template <std::size_t... S>
    static constexpr std::array<Arrive, N> arrivals(std::index_sequence<S...>) {
        return {&TimedJoin::template arrive<S>...};
    }

   public:
    // `most`: no stream ever has more live rows, so that no leaf grows.
    TimedJoin(std::int64_t window, std::int64_t most)
        : window_(window),
          leaves_(N, Ring<0>(most)),
          values_(N, std::vector<Key>(one_key ? 0 : leaves_[0].entries.size() * width)),
          prefixes_(Ring<Levels + 2>(2 * most)...),
          low_{} {}

    void run(const std::int64_t* times, const std::int32_t* streams, const Key* const* columns, const Key* const* ids,
             std::int64_t m) override {
        static constexpr auto table = arrivals(std::make_index_sequence<N>());
        ids_ = ids;
        std::int64_t oldest = 0;
        for (std::int64_t i = 0; i < m; ++i) {
            for (; times[oldest] < times[i] - window_; ++oldest) {
                const int s = streams[oldest];
                leaves_[s].tail = ++low_[s];
            }
            (this->*table[streams[i]])(columns, i);
        }
    }

    std::int64_t results() const override {
        return blocks_.empty() ? 0 : static_cast<std::int64_t>((blocks_.size() - 1) * block + last_);
    }

    void copy(std::int64_t* out) const override {
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            const std::size_t records = b + 1 < blocks_.size() ? block : last_;
            for (std::size_t r = 0; r < records; ++r)
                for (int c = 0; c < N; ++c) *out++ = blocks_[b][r][c];
        }
    }
};

template <int N>
Timed* timed(int shape, std::int64_t window, std::int64_t most) {
    using Levels = std::make_index_sequence<N - 2>;
    if (shape == 0) return new TimedJoin<N, OneKey, Levels>(window, most);
    if constexpr (N <= 6) {
        if (shape == 1) return new TimedJoin<N, Chain, Levels>(window, most);
        if (shape == 2) return new TimedJoin<N, Star, Levels>(window, most);
    }
    return nullptr;
}

}  // namespace

extern "C" {

void* fixed_new(int streams, int shape, std::int64_t window, std::int64_t most) {
    switch (streams) {
        case 3: return timed<3>(shape, window, most);
        case 4: return timed<4>(shape, window, most);
        case 6: return timed<6>(shape, window, most);
        case 10: return timed<10>(shape, window, most);
        case 20: return timed<20>(shape, window, most);
        default: return nullptr;
    }
}

void fixed_free(void* join) { delete static_cast<Timed*>(join); }

void fixed_run(void* join, const std::int64_t* times, const std::int32_t* streams, const std::int64_t* const* columns,
               const std::int64_t* const* ids, std::int64_t m) {
    static_cast<Timed*>(join)->run(times, streams, columns, ids, m);
}

std::int64_t fixed_results(void* join) { return static_cast<Timed*>(join)->results(); }

// All results, row by row: `fixed_results` records of one id for each stream.
void fixed_copy(void* join, std::int64_t* out) { static_cast<Timed*>(join)->copy(out); }
}
