#include <vector>
#include "matrix.h"

namespace lin {

using Row = std::vector<double>;
constexpr int kLimit = 8;

/// A matrix of fixed width.
template <typename T, int Width>
class Matrix : public Base<T> {
 public:
  Matrix() = default;
  explicit Matrix(int rows);
  ~Matrix();

  /// The number of rows.
  int rows() const { return rows_; }
  Matrix operator*(const Matrix& other) const;

  enum class Order { kRow, kColumn };

 private:
  int rows_ = 0;
  std::vector<T> cells_;
};

// Rows are filled with nothing.
template <typename T, int Width>
Matrix<T, Width>::Matrix(int rows) : rows_(rows), cells_(rows * Width) {}

template <typename T, int Width>
Matrix<T, Width> Matrix<T, Width>::operator*(const Matrix& other) const {
  Matrix product(rows_);
  for (int row = 0; row < rows_; ++row) {
    for (int column = 0; column < Width; ++column) {
      product.cells_[row * Width + column] += cells_[row] * other.cells_[column];
    }
  }
  return product;
}

namespace detail {
struct Pivot {
  int row;
  double value;
};

double largest(const Row& row) {
  double found = 0;
  for (double cell : row) found = cell > found ? cell : found;
  return found;
}
}  // namespace detail

bool operator==(const detail::Pivot& a, const detail::Pivot& b) { return a.row == b.row; }

}  // namespace lin

extern "C" int matrix_limit() { return lin::kLimit; }

TEST(MatrixTest, StartsEmpty) {
  EXPECT_EQ((lin::Matrix<double, 2>().rows()), 0);
}
